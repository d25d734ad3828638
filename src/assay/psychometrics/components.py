"""Variance components of one table: the terms that it tells apart, fitted, with what is known of how sure they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from assay.errors import DesignError
from assay.estimation.intervals import Estimate, ends_of, missing
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.design import Design
from assay.psychometrics.identified import Identified, complete_table, identify
from assay.psychometrics.settings import DesignSettings, How
from assay.statistics.balanced import Balanced
from assay.statistics.blocks import Blocks
from assay.statistics.reml import Fit, Ratio, fit, profile, replicates, standard_error
from assay.statistics.terms import Terms, anova, grouped

MOST_PROFILED = 20_000
"""Labels of an unbalanced table up to which intervals are profiles when nothing else is asked for: minutes above."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The variances of one table.

    Attributes
    ----------
    identified : Identified
        The terms, the residual last.
    theta : (terms,) float
    raw : (terms,) float
        Before what is below 0 was set to 0; only the analysis of variance gives such.
    fit : Fit or None
        None for the analysis of variance.
    value : (labels,) float
    codes : mapping of facet to (labels,) int
    """

    identified: Identified
    theta: Floats
    raw: Floats
    fit: Fit | None
    likelihood: Balanced | Blocks
    value: Floats
    codes: Mapping[str, Ints]
    settings: DesignSettings = field(repr=False)

    @property
    def is_balanced(self) -> bool:
        """Whether no cell is missing."""
        return isinstance(self.likelihood, Balanced)

    @property
    def n_objects(self) -> int:
        """Levels of the object."""
        return len(np.unique(self.codes[self.settings.object]))

    @property
    def known(self) -> bool:
        """Whether the object's variance stands alone."""
        own = self.identified.design.nests[self.settings.object] | {self.settings.object}
        return any(len(t.effects) == 1 and t.effects[0].index == own for t in self.identified.terms)

    @cached_property
    def terms(self) -> Terms:
        """The labels with the levels of each term."""
        return self.identified.random(self.value)

    def again(self, rows: Ints, codes: Mapping[str, Ints]) -> Floats:
        """The variances of other rows of the same table; the same terms are fitted."""
        found, value, restricted = self.identified, self.value[rows], self.settings.estimator == "reml"
        start = np.maximum(self.theta, 0.02 * self.theta.sum())
        if np.ptp(value) == 0:
            return np.full(len(self.theta), np.nan)
        if found.complete is not None:
            complete = complete_table(found.design, found.terms[-1].omitted, value, codes, restricted)
            if complete is not None and self.fit is not None:
                return fit(complete, [start], 1e-6).theta
        each = [t.effects[0].index for t in found.terms if t.code is not None]
        terms = Terms(value, tuple(grouped(*(codes[f] for f in found.design.facets if f in i))[0] for i in each))
        if self.fit is None:
            return np.maximum(anova(terms), 0.0)
        return fit(Blocks.of(terms, restricted), [start], 1e-6).theta


def fit_components(design: Design, value: Floats, codes: Mapping[str, Ints], settings: DesignSettings) -> Fitted:
    """Find what the table tells apart, then the variances.

    A complete table is fitted from its mean squares, any other in blocks.
    """
    found = identify(design, value, codes, settings)
    likelihood: Balanced | Blocks
    likelihood = found.complete or Blocks.of(found.random(value), settings.estimator != "ml")
    start = likelihood.anova() if isinstance(likelihood, Balanced) else anova(found.random(value))
    if settings.estimator == "anova":
        if not np.isfinite(start).all():
            raise DesignError("the analysis of variance has no solution for this table; take estimator='reml'")
        return Fitted(found, np.maximum(start, 0.0), start, None, likelihood, value, codes, settings)
    even = np.full(len(found.terms), float(value.var()) / len(found.terms))
    best = fit(likelihood, [np.maximum(start, 0.0), even])
    return Fitted(found, best.theta, best.theta, best, likelihood, value, codes, settings)


# -- how sure ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How intervals are made of a fit: by its profile, or from variances of other samples.

    Attributes
    ----------
    how : {"profile", "delta", "parametric", "objects", "none"}
    samples : (samples, terms) float
        Variances of samples drawn from the model, or of resampled objects; empty where there are none.
    """

    fitted: Fitted
    how: How
    confidence: float
    samples: Floats

    def of(self, quantity: Ratio, *, quick: bool = False) -> Estimate:
        """The value with its interval; ``quick`` takes the delta method in place of a profile."""
        fitted = self.fitted
        value = float(quantity.value(fitted.theta))
        if not np.isfinite(value):
            return missing("all its variances are 0")
        if self.how == "none":
            return Estimate(value, np.nan, np.nan, _error(fitted, quantity), "no interval was asked for")
        if len(self.samples):
            return from_samples(value, quantity.value(self.samples), self.confidence)
        assert fitted.fit is not None
        error = standard_error(fitted.fit, quantity)
        if quick or self.how == "delta":
            low, high = _delta(value, error, quantity, self.confidence)
        else:
            # The residual has its many labels; whatever else is known rests on few levels.
            alone = quantity.rest is None and not quantity.top[:-1].any()
            low, high = profile(fitted.fit, quantity, self.confidence, None if alone else fitted.n_objects - 1)
        known = np.isfinite(low) and np.isfinite(high) and high > low
        reason = None if known else "the labels cannot show how sure it is"
        return Estimate(value, low if known else np.nan, high if known else np.nan, error, reason)


def uncertainty(fitted: Fitted, how: How | None, n_resamples: int, confidence: float, seed: int) -> Uncertainty:
    """How intervals will be made.

    Raises
    ------
    DesignError
        For a profile of variances that come from no likelihood.
    """
    large = not fitted.is_balanced and len(fitted.value) > MOST_PROFILED
    chosen: How = how or ("parametric" if fitted.fit is None else "delta" if large else "profile")
    if chosen in ("profile", "delta") and fitted.fit is None:
        raise DesignError(
            f"method='{chosen}' needs a likelihood; with estimator='anova' take method='parametric' or 'objects'"
        )
    samples = np.empty((0, len(fitted.theta)))
    if chosen == "objects":
        samples = _each(lambda rng: resampled(fitted, rng)[0], n_resamples, seed)
    elif chosen == "parametric":
        samples = (
            replicates(fitted.fit, n_resamples, seed)
            if fitted.fit is not None
            else _each(lambda rng: _anova_sample(fitted, rng), n_resamples, seed)
        )
    return Uncertainty(fitted, chosen, confidence, samples)


def _each(draw: Callable[[np.random.Generator], Floats], n: int, seed: int) -> Floats:
    rngs = (np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,))) for i in range(n))
    return np.array([draw(rng) for rng in rngs])


def resampled(fitted: Fitted, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Variances of objects drawn with replacement, and how often each was drawn."""
    of = fitted.codes[fitted.settings.object]
    counts = np.bincount(rng.integers(0, int(of.max()) + 1, int(of.max()) + 1), minlength=int(of.max()) + 1)
    return again(fitted, counts), counts


def again(fitted: Fitted, counts: Ints) -> Floats:
    """Variances where each object stands so often, every time as another object."""
    measured = fitted.settings.object
    of = fitted.codes[measured]
    times = counts[of]
    rows = np.repeat(np.arange(len(of)), times)
    copy = np.concatenate([np.arange(t) for t in times]) if len(times) else times
    codes = {f: c[rows] for f, c in fitted.codes.items()}
    codes[measured] = grouped(codes[measured], copy)[0]
    if len(np.unique(codes[measured])) < 2:
        return np.full(len(fitted.theta), np.nan)
    return fitted.again(rows, codes)


def _anova_sample(fitted: Fitted, rng: np.random.Generator) -> Floats:
    if isinstance(fitted.likelihood, Balanced):
        return np.maximum(fitted.likelihood.simulated(fitted.theta, rng).anova(), 0.0)
    terms = fitted.terms
    value = rng.normal(size=len(terms)) * np.sqrt(fitted.theta[-1])
    for code, n, variance in zip(terms.codes, terms.levels, fitted.theta, strict=False):
        value += rng.normal(size=n)[code] * np.sqrt(variance)
    return np.maximum(anova(terms.with_values(value)), 0.0)


def _error(fitted: Fitted, quantity: Ratio) -> float:
    return np.nan if fitted.fit is None else standard_error(fitted.fit, quantity)


def from_samples(value: float, found: Floats, confidence: float) -> Estimate:
    """A value with the percentile interval of what other samples gave."""
    error, low, high, reasons = ends_of(
        "percentile", np.array([value]), found[:, None], np.empty((0, 1)), confidence, ("none",)
    )
    return Estimate(value, float(low[0]), float(high[0]), float(error[0]), reasons[0])


def _delta(value: float, error: float, quantity: Ratio, confidence: float) -> tuple[float, float]:
    """Symmetric on the logit scale of a share, on the log scale of a variance."""
    from scipy.special import ndtri

    if not np.isfinite(error) or value <= 0 or (quantity.rest is not None and value >= 1):
        return np.nan, np.nan
    half = float(ndtri((1 + confidence) / 2)) * error
    if quantity.rest is None:
        return float(value * np.exp(-half / value)), float(value * np.exp(half / value))
    centre, wide = np.log(value / (1 - value)), half / (value * (1 - value))
    return float(1 / (1 + np.exp(wide - centre))), float(1 / (1 + np.exp(-wide - centre)))
