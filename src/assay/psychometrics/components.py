"""Of what is the variance of these scores made, and how sure is that? One table, its components and coefficients.

The terms that a table tells apart (`resolve_confounding`) are fitted; coefficients are ratios of sums of their
variances (Brennan 2001, section 4); every estimate has other intervals and p-values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, missing
from assay.estimation.options import IntervalSettings, number_in
from assay.estimation.resampling import estimate_replicates
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.design import (
    CoefficientName,
    Confounding,
    Design,
    DesignSettings,
    IntervalMethod,
    Merged,
    Term,
    axes_of_effects,
    complete_table,
    resolve_confounding,
)
from assay.statistics.components.blocks import (
    Balanced,
    Blocks,
    Terms,
    anova,
    balanced_cells,
    complete_cells,
    cross_codes,
    few_levels,
    sequential_squares,
)
from assay.statistics.components.reml import INSIDE, Ratio, RemlFit, fit, profile, profile_p, replicates, standard_error

# -- The fit ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fitted:
    """The variances of one table.

    Attributes
    ----------
    confounding : Confounding
        The terms, the residual last.
    theta : (terms,) float
    raw : (terms,) float
        Before negative values were set to 0; only the analysis of variance gives them.
    fit : RemlFit or None
        None for the analysis of variance.
    value : (labels,) float
    codes : mapping of facet to (labels,) int
    """

    confounding: Confounding
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
    def few_objects(self) -> str | None:
        """Reason if there are too few objects for the interval of a variance other than the residual's, else None."""
        return few_levels(self.n_objects, self.settings.least_contrasts, self.settings.object)

    @property
    def terms(self) -> Terms:
        """The labels with the levels of each term."""
        return self.confounding.random(self.value)

    def refit_objects(self, counts: Ints) -> Floats:
        """The variances with each object repeated ``counts`` times, as different objects; the terms do not change."""
        measured, found = self.settings.object, self.confounding
        restricted, apart = self.settings.estimator == "reml", [t.effects[0] for t in found.terms[:-1]]
        drawn = counts[np.unique(self.codes[measured])]  # counts are of all objects, also of those of others only
        times = counts[self.codes[measured]]
        if drawn.sum() < 2 or np.ptp(self.value[times > 0]) == 0:
            return np.full(len(self.theta), np.nan)
        if self._cells is not None:
            cells = np.repeat(self._cells, drawn, axis=found.design.facets.index(measured))
            return self._fit_complete(balanced_cells(cells, *axes_of_effects(found.design, apart), restricted))
        if self._object_of_cell is not None and isinstance(self.likelihood, Blocks):
            resample = self.likelihood.repeated(counts[self._object_of_cell].astype(float))
            return fit(resample, [self._start], 1e-6).theta
        rows = np.repeat(np.arange(len(times)), times)
        copy = np.concatenate([np.arange(t) for t in times])
        codes = {f: c[rows] for f, c in self.codes.items()}
        codes[measured] = cross_codes(codes[measured], copy)[0]
        value = self.value[rows]
        if found.complete is not None and self.fit is not None:
            complete = complete_table(found.design, apart, value, codes, restricted)
            if complete is not None:
                return self._fit_complete(complete)
        each = [t.effects[0].index for t in found.terms if t.code is not None]
        terms = Terms(value, tuple(found.design.codes_of(index, codes) for index in each))
        if self.fit is None:
            return np.maximum(anova(terms), 0.0)
        return fit(Blocks.of(terms, restricted), [self._start], 1e-6).theta

    @cached_property
    def _object_of_cell(self) -> Ints | None:
        """The object of each cell, if copies of an object differ in all terms within blocks and share those across."""
        likelihood, measured = self.likelihood, self.settings.object
        if isinstance(likelihood, Balanced) or self.fit is None:
            return None
        each = [t.effects[0].index for t in self.confounding.terms if t.code is not None]
        of_object = tuple(k for k, index in enumerate(each) if measured in index)
        return self.codes[measured][likelihood.label] if of_object and of_object == likelihood.within else None

    @property
    def _start(self) -> Floats:
        """Where the search for the variances of a resample starts."""
        return np.asarray(np.maximum(self.theta, INSIDE * self.theta.sum()))

    @cached_property
    def _cells(self) -> Floats | None:
        """The cells of a complete table that drawn objects leave complete; None of any other."""
        design, measured = self.confounding.design, self.settings.object
        if self.confounding.complete is None or self.fit is None or design.nests[measured]:
            return None
        return complete_cells(self.value, [design.nested_levels(f, self.codes) for f in design.facets])

    def _fit_complete(self, table: Balanced) -> Floats:
        """The variances of a complete resample: often all of those of the analysis of variance are positive, and those
        have the highest likelihood."""
        of_squares = table.anova()
        return fit(table, [of_squares if (of_squares > 0).all() else self._start], 1e-6).theta

    def scores(self) -> tuple[Floats, Floats]:
        """The universe score of each object, best linear unbiased, and its standard error: (objects,)."""
        terms, measured = self.terms, {self.settings.object}
        own = next(k for k, t in enumerate(self.confounding.terms[:-1]) if t.effects[0].primary == measured)
        likelihood = self.likelihood if isinstance(self.likelihood, Blocks) else Blocks.of(terms)
        found, error = likelihood.predict(self.theta, own)
        return found + terms.value.mean(), np.sqrt(error)

    def squares(self) -> tuple[Floats, Floats]:
        """Degrees of freedom and sums of squares of each term and the residual: (terms + 1,), see `sequential_squares`.

        For a complete table, those of its strata; omitted effects are in the residual.
        """
        if not isinstance(self.likelihood, Balanced):
            return sequential_squares(self.terms)
        found, df, squares = self.confounding, self.likelihood.df, self.likelihood.squares
        of = [found.design.effects.index(t.effects[0]) for t in found.terms[:-1]]
        rest = np.setdiff1d(np.arange(len(df)), of)
        return np.append(df[of], df[rest].sum()), np.append(squares[of], squares[rest].sum())

    def bootstrap(self, rng: np.random.Generator) -> Floats:
        """The variances of objects drawn with replacement."""
        n = int(self.codes[self.settings.object].max()) + 1
        return self.refit_objects(np.bincount(rng.integers(0, n, n), minlength=n))

    def anova_of_sample(self, rng: np.random.Generator) -> Floats:
        """The analysis of variance of a table drawn from these variances."""
        if isinstance(self.likelihood, Balanced):
            return np.maximum(self.likelihood.simulate(self.theta, rng).anova(), 0.0)
        terms = self.terms
        value = rng.normal(size=len(terms)) * np.sqrt(self.theta[-1])
        for code, n, variance in zip(terms.codes, terms.levels, self.theta, strict=False):
            value += rng.normal(size=n)[code] * np.sqrt(variance)
        return np.maximum(anova(replace(terms, value=value)), 0.0)


def fit_components(design: Design, value: Floats, codes: Mapping[str, Ints], settings: DesignSettings) -> Fitted:
    """Find the identified terms, then their variances.

    A complete table is fitted from its mean squares, any other in blocks.
    """
    found = resolve_confounding(design, value, codes, settings)
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


# -- How sure --------------------------------------------------------------------------------------

MOST_PROFILED = 20_000
"""Largest number of labels of an unbalanced table with profile intervals by default: more take minutes."""


@dataclass(frozen=True, kw_only=True)
class VarianceEstimate(Estimate):
    """A variance, or a share of variances, whose intervals and p-values come from its likelihood.

    Attributes
    ----------
    fit : RemlFit
    quantity : Ratio
    profiled : bool
        By the profile of the likelihood, or by the delta method.
    df : float or None
        Of the t distribution that a profile is compared with; None for the normal.
    """

    fit: RemlFit = field(repr=False, compare=False, metadata={"json": False})
    quantity: Ratio = field(repr=False, compare=False, metadata={"json": False})
    profiled: bool = field(repr=False, compare=False, metadata={"json": False})
    df: float | None = field(repr=False, compare=False, metadata={"json": False})

    def interval(self, level: float) -> tuple[float, float]:
        """The interval at another level; NaN if it is not estimable."""
        number_in("level", level, above=0, below=1)
        if self.profiled:
            low, high = profile(self.fit, self.quantity, level, self.df)
        else:
            low, high = delta_interval(self.estimate, self.standard_error, self.quantity.rest is not None, level)
        known = np.isfinite(low) and np.isfinite(high) and high > low
        return (low, high) if known else (np.nan, np.nan)

    def p(self, null: float = 0.0) -> float:
        """Two-sided p-value of a true value of ``null``: the level at which the interval would end there.

        By the delta method NaN of a null at a bound, where its scale has no value.
        """
        from scipy.special import ndtr

        if self.profiled:
            return profile_p(self.fit, self.quantity, null, self.df)
        value, error, share = self.estimate, self.standard_error, self.quantity.rest is not None
        if not min(value, null) > 0 or (share and not max(value, null) < 1):
            return np.nan
        error /= value * (1 - value) if share else value
        there, here = (np.log(v / (1 - v) if share else v) for v in (null, value))
        return float(2 * ndtr(-abs(here - there) / error))


@dataclass(frozen=True, kw_only=True)
class RootEstimate(Estimate):
    """The square root of a variance: a standard error of measurement."""

    variance: Estimate = field(repr=False, compare=False, metadata={"json": False})

    @classmethod
    def of(cls, found: Estimate) -> RootEstimate:
        """The root of an estimated variance, with its interval."""
        value, low, high = (_root(v) for v in (found.estimate, found.low, found.high))
        error = found.standard_error / (2 * value) if value > 0 else np.nan
        return cls(value, low, high, error, found.reason, variance=found)

    def interval(self, level: float) -> tuple[float, float]:
        """The roots of the variance's ends."""
        low, high = self.variance.interval(level)
        return _root(low), _root(high)

    def p(self, null: float = 0.0) -> float:
        """Two-sided p-value of a true value of ``null``."""
        return self.variance.p(null**2)


def _root(value: float) -> float:
    return float(np.sqrt(max(value, 0.0))) if np.isfinite(value) else np.nan


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Intervals of a fit: from its likelihood, or from variances of other samples.

    Attributes
    ----------
    how : {"profile", "delta", "parametric", "objects", "none"}
    samples : (samples, terms) float
        Variances of samples drawn from the model, or of resampled objects; can be empty.
    """

    fitted: Fitted
    how: IntervalMethod
    confidence: float
    seed: int
    samples: Floats

    def estimate(self, quantity: Ratio, *, quick: bool = False) -> Estimate:
        """The value with its interval; ``quick`` uses the delta method instead of a profile."""
        fitted = self.fitted
        value = float(quantity.value(fitted.theta))
        if not np.isfinite(value):
            return missing("all its variances are 0")
        error = np.nan if fitted.fit is None else standard_error(fitted.fit, quantity)
        if self.how == "none":
            return Estimate(value, np.nan, np.nan, error, "no interval was requested")
        # The residual has many labels; all other variances depend on few levels.
        of_residual = quantity.rest is None and not quantity.top[:-1].any()
        if (few := fitted.few_objects) and (self.how == "objects" or not of_residual):
            return Estimate(value, np.nan, np.nan, error, few)
        if len(self.samples):
            return self.sample_estimate(value, quantity.value(self.samples))
        found = self._by_likelihood(value, error, quantity, quick)
        low, high = found.interval(self.confidence)
        reason = "the labels cannot show how sure it is" if np.isnan(low) else None
        return replace(found, low=low, high=high, reason=reason)

    def _by_likelihood(self, value: float, error: float, quantity: Ratio, quick: bool) -> VarianceEstimate:
        fitted = self.fitted
        assert fitted.fit is not None
        profiled = self.how == "profile" and not quick
        of_residual = quantity.rest is None and not quantity.top[:-1].any()
        df = fitted.n_objects - 1 if profiled and not of_residual else None
        return VarianceEstimate(
            value, np.nan, np.nan, error, fit=fitted.fit, quantity=quantity, profiled=profiled, df=df
        )  # fmt: skip

    def side(self, quantity: Ratio, target: float, *, quick: bool = False) -> int | None:
        """1 or −1 if the interval of a share is above or below the target, 0 if it contains it; None without one."""
        if self.how == "none" or self.fitted.few_objects:
            return None
        value = float(quantity.value(self.fitted.theta))
        if not np.isfinite(value):
            return None
        if len(self.samples):
            found = self.sample_estimate(value, quantity.value(self.samples))
            return int(found.low >= target) - int(found.high < target) if np.isfinite(found.low) else None
        assert self.fitted.fit is not None
        # One search instead of the several of both ends.
        one = self._by_likelihood(value, standard_error(self.fitted.fit, quantity), quantity, quick)
        outside = one.p(target) <= 1 - self.confidence
        return 0 if not outside else 1 if value >= target else -1

    def coefficient(
        self, name: CoefficientName, weights: Weights, sizes: Mapping[str, float] | None = None, *, quick: bool = False
    ) -> Estimate:  # fmt: skip
        """Eρ² or Φ of a mean over these numbers of levels (default: one each), or the reason if not estimable."""
        if why := self.fitted.confounding.why_not(name, sizes or {}):
            return missing(why)
        return self.estimate(getattr(weights, name), quick=quick)

    def error(self, name: CoefficientName, weights: Weights) -> Estimate:
        """The error variance of a coefficient: relative for Eρ², absolute for Φ; missing if the latter contains a
        severity that is not estimable."""
        found = self.fitted.confounding
        if why := found.single and found.why_not(name, {}):
            return missing(why)
        return self.estimate(Ratio(weights.relative if name == "generalizability" else weights.absolute))

    def sample_estimate(self, value: float, found: Floats) -> Estimate:
        """A value with the percentile interval of the samples."""
        n = self.fitted.n_objects
        how = IntervalSettings(
            method="percentile", confidence=self.confidence, seed=self.seed
        )  # fmt: skip
        return estimate_replicates(np.array([value]), found[:, None], how, n_items=n, n_units=n)[0]


def uncertainty(
    fitted: Fitted, how: IntervalMethod | None, n_resamples: int, confidence: float, seed: int
) -> Uncertainty:  # fmt: skip
    """How intervals will be made.

    Raises
    ------
    DesignError
        For a profile of variances that come from no likelihood.
    """
    large = not fitted.is_balanced and len(fitted.value) > MOST_PROFILED
    chosen: IntervalMethod = how or ("parametric" if fitted.fit is None else "delta" if large else "profile")
    if chosen in ("profile", "delta") and fitted.fit is None:
        raise DesignError(
            f"method='{chosen}' needs a likelihood; with estimator='anova' take method='parametric' or 'objects'"
        )
    samples = np.empty((0, len(fitted.theta)))
    if chosen == "parametric" and fitted.fit is not None:
        samples = replicates(fitted.fit, n_resamples, seed)
    elif chosen in ("parametric", "objects"):
        draw = fitted.bootstrap if chosen == "objects" else fitted.anova_of_sample
        rngs = (np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,))) for i in range(n_resamples))
        samples = np.array([draw(rng) for rng in rngs])
    return Uncertainty(fitted, chosen, confidence, seed, samples)


def delta_interval(value: float, error: float, share: bool, confidence: float) -> tuple[float, float]:
    """Symmetric on the logit scale of a share, on the log scale of a variance."""
    from scipy.special import ndtri

    if not np.isfinite(error) or value <= 0 or (share and value >= 1):
        return np.nan, np.nan
    half = float(ndtri((1 + confidence) / 2)) * error
    if not share:
        return float(value * np.exp(-half / value)), float(value * np.exp(half / value))
    centre, wide = np.log(value / (1 - value)), half / (value * (1 - value))
    return float(1 / (1 + np.exp(wide - centre))), float(1 / (1 + np.exp(-wide - centre)))


# -- Coefficients ----------------------------------------------------------------------------------


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


def weights(
    terms: Sequence[Term], design: Design, measured: str, fixed: Sequence[str], sizes: Mapping[str, float],
    merged: Merged = "careful",
) -> Weights:  # fmt: skip
    """Each term's part in the mean over these numbers of levels of each facet.

    An effect with the object and only fixed facets is a part of the universe score; one without the object and
    without a random facet is not part of any error; all others are error, relative if they contain the object. A term
    of several confounded effects shrinks with the facets that all of them share (``careful``), or with all that index
    any of them (``usual``).
    """
    own = design.nests[measured] | {measured}
    found = np.zeros((3, len(terms)))
    for k, term in enumerate(terms):
        many = float(np.prod([sizes.get(f, 1.0) for f in term.facets(merged) - own] or [1.0]))
        each = [e.index for e in term.effects] or [term.cell]
        holds = any(measured in index for index in each)
        random = any((index - own) - set(fixed) for index in each) or term.code is None
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
        The effect, or the confounded effects; the residual's ends in ``e``.
    variance : Estimate
    percent : float
        Of all variance.
    levels : int
    contrasts : int or None
        Differences by which the data tell it from the next coarser effect, or from chance.
    at_zero : bool
        Whether the search ended at the bound.
    raw : float
        Negative if the analysis of variance gave that.
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
    objects : tuple of str
        Names of the levels of the object.
    lone : tuple of str
        Random facets of one level, with that level: ``r (gpt)``.
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
    objects: tuple[str, ...] = field(default=(), repr=False, metadata={"json": False})
    lone: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Criterion and group, if any."""
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

    def coefficients(self) -> dict[str, Estimate]:
        """Eρ², Φ and both standard errors of measurement."""
        return {
            "Eρ²": self.generalizability,
            "Φ": self.dependability,
            "SEM (relative)": RootEstimate.of(self.relative_error),
            "SEM (absolute)": RootEstimate.of(self.absolute_error),
        }

    def weights(self, fixed: Sequence[str], sizes: Mapping[str, float], merged: Merged) -> Weights:
        """Each term's part in a mean over other numbers of levels; fixed facets have all their levels."""
        found = self.fitted.confounding
        kept = {f: float(n) for f, n in sizes.items() if f in found.design.facets}
        kept |= {f: float(self.levels[f]) for f in fixed if f in found.design.facets}
        return weights(found.terms, found.design, self.fitted.settings.object, fixed, kept, merged)

    def score_rows(self, confidence: float) -> Iterator[dict[str, Any]]:
        """One row per object: its labels, their mean, its universe score and the interval."""
        from scipy.special import ndtri

        fitted = self.fitted
        code = np.unique(fitted.codes[fitted.settings.object], return_inverse=True)[1]
        number = np.bincount(code)
        mean = np.bincount(code, weights=fitted.value) / number
        reason = fitted.confounding.not_estimable
        score, error = fitted.scores() if reason is None else np.full((2, len(number)), np.nan)
        half = float(ndtri((1 + confidence) / 2)) * error
        columns = (self.objects, score, score - half, score + half, error, mean, number)
        for name, *values in zip(*columns, strict=True):
            numbers = dict(zip(("estimate", "low", "high", "standard_error", "mean"), map(float, values), strict=False))
            yield {"criterion": self.criterion, "group": self.group, "object": name, **numbers,
                   "labels": int(values[-1]), "reason": reason}  # fmt: skip

    def anova_rows(self) -> Iterator[dict[str, Any]]:
        """One row per term: the analysis of variance and the fitted variances."""
        fitted = self.fitted
        df, squares = fitted.squares()
        solved = fitted.likelihood.anova() if isinstance(fitted.likelihood, Balanced) else anova(fitted.terms)
        for c, n, total, variance in zip(self.components, df, squares, solved, strict=True):
            yield {"criterion": self.criterion, "group": self.group, "effect": c.name, "df": float(n),
                   "squares": float(total), "mean_square": float(total / n) if n > 0 else np.nan,
                   "anova": float(variance), "estimate": c.variance.estimate, "percent": c.percent}  # fmt: skip

    def estimates(self) -> tuple[Estimate, ...]:
        """Of each variance, then the coefficients and the standard errors of measurement."""
        return *(c.variance for c in self.components), *self.coefficients().values()

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row an estimate."""
        names: list[tuple[str, float | None, int | None]] = [
            (f"σ²({c.name})", c.percent, c.levels) for c in self.components
        ]
        names += [(name, None, None) for name in self.coefficients()]
        for (name, percent, levels), found in zip(names, self.estimates(), strict=True):
            yield {
                "criterion": self.criterion, "group": self.group, "quantity": name, **found.row(), "percent": percent,
                "levels": levels, "reason": found.reason,
            }  # fmt: skip


@dataclass(frozen=True, eq=False)
class DesignStudies(Result):
    """Studies of one design.

    Attributes
    ----------
    design : str
    object : str
    fixed : tuple of str
    studies : tuple of CriterionStudy
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
        """The study, if there is one.

        Raises
        ------
        DesignError
            If there are several.
        """
        if len(self.studies) > 1:
            names = [s.name for s in self.studies]
            raise DesignError(
                f"there are {len(names)} studies; take study['{names[0]}'].{what}, or one of {listing(names[1:])}"
            )
        return self.studies[0]
