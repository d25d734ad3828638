"""One G-study: of one criterion, of one group of annotators; and several of them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate
from assay.estimation.result import Result, Run
from assay.psychometrics.components import Fitted, Uncertainty


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
class Study:
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
class Studies(Result):
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
    studies: tuple[Study, ...]
    run: Run

    def __getitem__(self, name: str) -> Study:
        """The study of a criterion, of a group, or of ``criterion, group``."""
        found = [s for s in self.studies if name in (s.name, s.criterion, s.group)]
        if len(found) != 1:
            raise DesignError(unknown("study", name, [s.name for s in self.studies], "this G-study"))
        return found[0]

    def one(self, what: str) -> Study:
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
