"""Variance components of one table: the terms that it tells apart, fitted, with what is known of how sure they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, ends_of, missing
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.design import Design, DesignSettings, How, Identified, Merged, Term, complete_table, identify
from assay.statistics.blocks import Balanced, Blocks, Terms, anova, grouped
from assay.statistics.reml import Ratio, RemlFit, fit, profile, replicates, standard_error

# -- Variance components of one table --------------------------------------------------------------

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
    fit: RemlFit | None
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


# -- Which variances count in which coefficient, for so many levels of each facet (Brennan 2001 ----


@dataclass(frozen=True, eq=False)
class Weights:
    """How much of each term's variance is the universe score's, the relative error's and the absolute error's.

    Attributes
    ----------
    universe, relative, absolute : (terms,) float
    """

    universe: Floats
    relative: Floats
    absolute: Floats

    @property
    def generalizability(self) -> Ratio:
        """Eρ²: universe score over itself and relative error."""
        return Ratio(self.universe, self.relative)

    @property
    def dependability(self) -> Ratio:
        """Φ: universe score over itself and absolute error."""
        return Ratio(self.universe, self.absolute)

    def quantities(self) -> dict[str, Ratio]:
        """Everything that is reported of a study, by name."""
        return {
            "Eρ²": self.generalizability,
            "Φ": self.dependability,
            "σ²(δ)": Ratio(self.relative),
            "σ²(Δ)": Ratio(self.absolute),
        }


def weights(
    terms: Sequence[Term], design: Design, measured: str, fixed: Sequence[str], sizes: Mapping[str, float],
    merged: Merged = "careful",
) -> Weights:  # fmt: skip
    """Each term's part in the mean over so many levels of each facet.

    An effect with the object and only fixed facets is a part of the universe score; one without the object and
    without a random facet is in no error; all others are error, relative where they hold the object. A term of
    several effects that cannot be told apart shrinks with the facets that all of them share (``careful``), or with
    all that index any of them (``usual``).
    """
    own = design.nests[measured] | {measured}
    found = np.zeros((3, len(terms)))
    for k, term in enumerate(terms):
        shares = term.shared if merged == "careful" else term.index
        many = float(np.prod([sizes.get(f, 1.0) for f in shares - own] or [1.0]))
        holds = any(measured in e.index for e in term.effects)
        random = any((e.index - own) - set(fixed) for e in term.effects) or term.code is None
        if holds and not random:
            found[0, k] = 1 / many
        elif holds:
            found[1:, k] = 1 / many
        elif random:
            found[2, k] = 1 / many
    return Weights(*found)


# -- One G-study -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Component:
    """One variance.

    Attributes
    ----------
    name : str
        The effect, or the effects that cannot be told apart; the residual's ends in ``e``.
    variance : Estimate
    percent : float
        Of all variance.
    levels : int
    contrasts : int or None
        Differences by which the data tell it from the next coarser effect, or from chance.
    at_zero : bool
        Whether the search ended at the bound.
    raw : float
        Below 0 where the analysis of variance gave that.
    """

    name: str
    variance: Estimate
    percent: float
    levels: int
    contrasts: int | None
    at_zero: bool
    raw: float


@dataclass(frozen=True, eq=False)
class CriterionStudy:
    """One G-study: of one criterion, of one group of annotators.

    Attributes
    ----------
    criterion, group : str or None
    n_labels : int
    levels : mapping of facet to int
    components : tuple of Component
    generalizability, dependability : Estimate
        Eρ² and Φ of a single score: one level of each random facet.
    relative_error, absolute_error : Estimate
        Error variances σ²(δ) and σ²(Δ).
    balanced, converged : bool
        Whether no cell is missing, and whether the search ended where nothing is gained.
    deviance : float
        The REML (or ML) criterion at its least; NaN for the analysis of variance.
    cautions, notes : tuple of str
    """

    criterion: str | None
    group: str | None
    n_labels: int
    levels: Mapping[str, int]
    components: tuple[Component, ...]
    generalizability: Estimate
    dependability: Estimate
    relative_error: Estimate
    absolute_error: Estimate
    balanced: bool
    converged: bool
    deviance: float
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    uncertainty: Uncertainty = field(repr=False, metadata={"json": False})

    @property
    def name(self) -> str:
        """Criterion and group, where there are any."""
        return ", ".join(str(v) for v in (self.criterion, self.group) if v is not None) or "all"

    @property
    def relative_sem(self) -> float:
        """The standard error of measurement for comparisons: √σ²(δ), in units of the scale."""
        return float(np.sqrt(self.relative_error.estimate))

    @property
    def absolute_sem(self) -> float:
        """The standard error of measurement for the score itself: √σ²(Δ)."""
        return float(np.sqrt(self.absolute_error.estimate))

    @property
    def fitted(self) -> Fitted:
        """The fit behind it."""
        return self.uncertainty.fitted

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row a variance, then the coefficients and the standard errors of measurement."""
        place = {"criterion": self.criterion, "group": self.group}
        for one in self.components:
            yield {
                **place, "quantity": f"σ²({one.name})", **one.variance.row(), "percent": one.percent,
                "levels": one.levels, "reason": one.variance.reason,
            }  # fmt: skip
        for name, found in self.coefficients().items():
            yield {
                **place,
                "quantity": name,
                **found.row(),
                "percent": None,
                "levels": None,
                "reason": found.reason,
            }

    def coefficients(self) -> dict[str, Estimate]:
        """Eρ², Φ and both standard errors of measurement."""
        return {
            "Eρ²": self.generalizability,
            "Φ": self.dependability,
            "SEM (relative)": _root(self.relative_error),
            "SEM (absolute)": _root(self.absolute_error),
        }


def _root(found: Estimate) -> Estimate:
    """The square root of a variance, with its interval."""
    value, low, high = (
        float(np.sqrt(max(v, 0.0))) if np.isfinite(v) else np.nan for v in (found.estimate, found.low, found.high)
    )
    return Estimate(value, low, high, found.standard_error / (2 * value) if value > 0 else np.nan, found.reason)


@dataclass(frozen=True, eq=False)
class DesignStudies(Result):
    """Studies of one design.

    Attributes
    ----------
    design : str
    object : str
    fixed : tuple of str
    studies : tuple of Study
    run : Run
    """

    design: str
    object: str
    fixed: tuple[str, ...]
    studies: tuple[CriterionStudy, ...]
    run: Run

    def __getitem__(self, name: str) -> CriterionStudy:
        """The study of a criterion, of a group, or of ``criterion, group``."""
        found = [s for s in self.studies if name in (s.name, s.criterion, s.group)]
        if len(found) != 1:
            raise DesignError(unknown("study", name, [s.name for s in self.studies], "this G-study"))
        return found[0]

    def one(self, what: str) -> CriterionStudy:
        """The study, where there is one.

        Raises
        ------
        DesignError
            Where there are several.
        """
        if len(self.studies) > 1:
            names = [s.name for s in self.studies]
            raise DesignError(
                f"there are {len(names)} studies; take study['{names[0]}'].{what}, or one of {listing(names[1:])}"
            )
        return self.studies[0]
