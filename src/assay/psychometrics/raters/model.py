"""The hierarchical rater model: severity, variability and group differences of humans and judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.structure.groups import annotator_groups
from assay.errors import DataError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, simultaneous_p
from assay.estimation.options import question
from assay.estimation.result import ResultOfRows, Run
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics import plots, words
from assay.psychometrics.raters.fairness import Fairness, fairness, refuse_groups
from assay.psychometrics.raters.fit import MANY_LABELS, RaterFit, fit
from assay.psychometrics.raters.linear import ENDS, LinearDensity, linear_items, share_at_ends
from assay.psychometrics.raters.results import (
    FAR,
    UNLIKELY,
    Diagnostics,
    between_groups,
    diagnose,
    ideal_ratings,
    modes_frame,
    predictive,
    traits,
)
from assay.psychometrics.raters.table import (
    FEW_LABELS,
    RaterSettings,
    link_cautions,
    rater_table,
    raters_alone,
    raters_upside_down,
    reversed_cautions,
    shared_error_notes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RIVAL = 0.05
"""Share of the mass from which a local optimum is reported: with less, no 95% interval would contain it."""

APART = 0.05
"""Local optima whose φ or ψ differ by more, in categories, would change the conclusions."""

EXACT_NUMBERS = 0.15
"""In the linear model, a ψ below this share of the standard deviation of labels: of labels that are the ideal ratings,
ψ is .05 to .15 with 60 to 200 items, from the prior."""

EXACT = 0.15
"""Labels without any scatter have a ψ of about .25, from the prior; a smaller one is from a φ on an edge."""


@dataclass(frozen=True, eq=False)
class RaterModel(ResultOfRows):
    """Severity and variability of every rater.

    Attributes
    ----------
    rows : polars.DataFrame
        One row per rater: ``annotator``, ``kind``, ``estimate`` (φ in ``unit``, centred over raters: below 0 is more
        severe than the mean) with ``low`` and ``high``, ``p_adjusted`` of φ = 0 over all raters; ``psi`` with its
        ends: the standard deviation of labels around the ideal rating, in ``unit``; ``labels``; ``fit_p`` and
        ``misfit`` of the predictive check; ``rhat`` and ``effective_draws`` (the worse of φ and ψ).
    modes : polars.DataFrame
        One row per local optimum of the posterior: ``share`` of the mass, ``severity_apart`` and
        ``variability_apart``, the largest differences of its φ and ψ from those of the best.
    items : polars.DataFrame
        One row per criterion: ``categories``, ``slope`` of each trait, ``spread``, the factor of ψ. In the linear model
        ``low`` and ``high`` of the scale instead of categories, and ``sd`` of ideal ratings.
    diagnostics : Diagnostics
    fairness : Fairness or None
        If a group was named.
    groups : polars.DataFrame or None
        With ``by``, one row per ``quantity`` (severity, variability) and two groups of humans: ``group``, ``other``;
        ``annotators``, ``others`` (numbers of people); ``mean``, ``mean_other``: of φ, or the geometric mean of ψ;
        ``estimate`` with ``low`` and ``high``: φ of the group minus φ of the other, or the ratio of ψ; ``p``,
        ``p_adjusted`` (Holm, over all rows), ``significant``; ``reason``.
    run : Run

    ``severity`` and ``variability`` are φ and ψ of each rater: ``severity[0].interval(.9)`` is another interval of the
    first, ``severity[0].p(0)`` its p-value.
    """

    symbol: ClassVar[str] = "φ"

    rows: pl.DataFrame
    modes: pl.DataFrame
    items: pl.DataFrame
    diagnostics: Diagnostics
    fairness: Fairness | None
    groups: pl.DataFrame | None
    run: Run
    fitted: RaterFit = field(repr=False, metadata={"json": False})

    def row_estimates(self) -> Sequence[Estimate]:
        """The severity of each rater."""
        return tuple(self.severity)

    @property
    def unit(self) -> str:
        """The unit of φ and ψ: ``categories``, or in the linear model ``points`` or ``percent of the range``."""
        return self.fitted.table.unit

    @property
    def converged(self) -> bool:
        """Whether the fit converged."""
        return self.diagnostics.converged

    @property
    def severity(self) -> Estimates:
        """φ of each rater, centred over raters, in the order of the table, with the method ``contrast``."""
        return self.fitted.severity

    @property
    def variability(self) -> Estimates:
        """ψ of each rater, in the order of the table."""
        return self.fitted.variability

    @cached_property
    def ideal(self) -> pl.DataFrame:
        """The ideal rating of each item, with its uncertainty: ``ideal``, ``certainty``, ``expected``, ``sd``.

        In the linear model: ``ideal`` and ``sd``, in ``unit``.
        """
        return ideal_ratings(self.fitted)

    @cached_property
    def traits(self) -> pl.DataFrame:
        """The trait of each subject: ``subject``, ``trait``, ``estimate``, ``sd``."""
        return traits(self.fitted)

    @cached_property
    def doubtful(self) -> dict[str, words.Doubt]:
        """Raters whose φ is not to be interpreted, with the reason; no sentence is about their severity."""
        return doubtful_raters(self.fitted, self.rows.select("annotator", "misfit", p="fit_p"))

    def compare(self, first: str, second: str) -> Estimate:
        """φ of one rater minus φ of another.

        Raises
        ------
        DataError
            For an unknown rater.
        """
        names = self.rows["annotator"].to_list()
        for name in (first, second):
            if name not in names:
                raise DataError(unknown("rater", name, names))
        weights = np.zeros(len(names))
        weights[names.index(first)], weights[names.index(second)] = 1, -1
        return self.severity.contrast(weights)[0]

    def sentences(self) -> tuple[str, ...]:
        """Convergence, then raters who differ significantly in severity, variability or between groups."""
        return tuple(_sentences(self))

    def summary(self) -> str:
        """Convergence, severity, variability and group differences in sentences."""
        return "\n".join([*self.sentences(), *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Severity and variability of every rater: severe on the left, variable on top."""
        return plots.raters(self.rows, self.converged, ax, unit=self.unit)

    def plot_fairness(self, ax: Axes | None = None) -> Axes:
        """Each rater's group difference in severity, and the ratio of its variabilities."""
        return plots.fairness(self.fairness, self.fitted.rope, ax, unit=self.unit)

    def plot_ideal(self, ax: Axes | None = None) -> Axes:
        """The shares of ideal ratings and of labels, by criterion; in the linear model, their quantiles."""
        return plots.ideal(self.fitted, ax)


@question(RaterSettings)
def rater_model(labels: Annotations | Chunks, settings: RaterSettings) -> RaterModel:
    """Estimate severity, variability and group differences of raters (hierarchical rater model, Patz et al. 2002).

    Each item has an ideal rating ξ on each criterion, which its trait θ makes more or less likely (generalized partial
    credit, eq. 5 of Hardy 2025); a rater's label is the ideal rating plus the rater's severity φ, with a scatter of
    the rater's variability ψ: p(k | ξ, r) ∝ exp(−(k − (ξ + φ))² / 2ψ²), eq. 6. φ = φ_r + η_j and ln ψ = ln ψ_r + ln
    τ_j of rater r and criterion j, after Mariano and Junker (2007). ξ is summed out, θ integrated by Gauss–Hermite
    quadrature.

    Labels with fractions, or on a scale of more than 20 steps, have a *linear* model: the label is ξ + φ + ψε, the
    ideal rating μ + αθ + ωe, with normal θ, e and ε, all integrated exactly. φ and ψ are then in points of the scale.
    ``distribution`` forces either model.

    Only identified quantities are reported: φ centred over raters, differences, ψ. A shift that all raters share is
    confounded with the ideal ratings.

    With at least 12 raters who have fewer than 50 labels in the median, a crowd, ln ψ_r vary around their mean with
    standard deviation .4, and ``quick`` draws from the posterior too: normal intervals at the mode would be too narrow.

    The sign of φ is opposite to that of λ in the many-facet Rasch model: φ < 0 is more severe.

    Parameters
    ----------
    labels : Annotations
        Ordered labels, categories or numbers; criteria can have different scales, and labels can be missing.

    Returns
    -------
    RaterModel

    Raises
    ------
    DesignError
        For labels that are not ordered, more than 20 categories or fractions with ``distribution="categories"``, fewer
        than two raters, or groups that no two raters share.
    DataError
        For a missing column, or items without a value in it.
    MissingExtra
        Without the extra ``raters``, unless ``quick``.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(60, 4, scale="1-5", judges={"gpt": 0.3}, seed=2)
    >>> found = assay.rater_model(labels, quick=True, starts=2)
    >>> found.rows["annotator"].to_list(), round(abs(sum(found.rows["estimate"])), 6)
    (['ann_1', 'ann_2', 'ann_3', 'ann_4', 'gpt'], 0.0)
    >>> numbers = assay.simulate(60, 4, scale="interval:0-100", judges={"gpt": 0.3}, seed=2)
    >>> assay.rater_model(numbers, quick=True).unit
    'points'
    """
    labels = labels.in_memory("a rater model")
    groups = None
    if settings.by is not None:
        groups = annotator_groups(labels, settings.by, of_items=f"use group='{settings.by}'")
    table = rater_table(labels, settings)
    if settings.group is not None:
        refuse_groups(table, settings.group)
    return _result(fit(table, settings), groups)


def _result(found: RaterFit, groups: Mapping[str, Sequence[str]] | None) -> RaterModel:
    table, settings = found.table, found.settings
    checked, modes, diagnosis = predictive(found), modes_frame(found), diagnose(found)
    fair = fairness(found) if settings.group else None
    level, n = f"{100 * settings.confidence:g}%", len(found.draws)
    how = f"{level} of {n:,} draws of the posterior ({settings.chains} chains by NUTS), seed {settings.seed}"
    if found.normal:
        how = f"{level}, normal approximation: {n:,} draws with the observed information, seed {settings.seed}"
    elif found.chains is None:
        how = f"{level} of {n:,} draws of the posterior (Hamiltonian Monte Carlo), seed {settings.seed}"
    facts = {"raters": len(table.raters), "items": len(table.items), "labels": len(table)}
    if table.criteria != (None,):
        facts["criteria"] = len(table.criteria)
    shared = shared_error_notes(table, settings.object)
    notes = (*table.notes, *shared, *found.density.layout.notes, *(fair.notes if fair else ()))
    cautions = (*fit_cautions(found, checked, modes), *(fair.cautions if fair else ()))
    run = Run("rater-model", settings, table.fingerprint, facts, how, table.exclusions, notes, cautions)
    rows = _rows(found, checked, diagnosis)
    compared = None if groups is None else between_groups(found, groups)
    return RaterModel(rows, modes, _items(found), diagnosis, fair, compared, run, found)


def _rows(found: RaterFit, checked: pl.DataFrame, diagnosis: Diagnostics) -> pl.DataFrame:
    table = found.table
    p = simultaneous_p(found.severity.value, found.severity.replicates)
    labels = table.counts.sum(axis=0)
    rows = [
        {"annotator": name, "kind": table.kinds[r], **found.severity[r].row(),
         "p_adjusted": float(p[r]), "psi": found.variability[r].estimate, "psi_low": found.variability[r].low,
         "psi_high": found.variability[r].high, "labels": int(labels[r]), "reason": found.severity[r].reason}
        for r, name in enumerate(table.raters)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema_overrides={"reason": pl.String})
    frame = frame.with_columns(fit_p=checked["p"], misfit=checked["misfit"])
    if diagnosis.rows.height:
        worst = diagnosis.rows.group_by("annotator").agg(pl.col("rhat").max(), pl.col("effective_draws").min())
        frame = frame.join(worst, on="annotator", how="left", maintain_order="left")
    return frame.select(*(c for c in frame.columns if c != "reason"), "reason")


def _items(found: RaterFit) -> pl.DataFrame:
    """One row per criterion."""
    table, density, x = found.table, found.density, found.center
    if isinstance(density, LinearDensity):
        return linear_items(density, x)
    spread = (density.layout.psi @ x).reshape(density.layout.shape)[0].mean(axis=1)
    rows = []
    for grid in density.grids:
        slopes = density.slopes(x, np, grid)
        for i, j in enumerate(grid.traits.criteria):
            each = {name: float(slopes[i, d]) for d, name in enumerate(grid.traits.names)}
            rows.append(
                {"criterion": table.criteria[j] or "all", "categories": len(table.categories[j]),
                 "spread": float(np.exp(spread[j] - spread.mean())),
                 "slope": ", ".join(f"{n} {v:.2f}" for n, v in each.items() if v)}
            )  # fmt: skip
    return pl.DataFrame(rows).sort("criterion")


def fit_cautions(found: RaterFit, checked: pl.DataFrame, modes: pl.DataFrame) -> Iterator[str]:
    """Cautions about the links, the raters and the local optima of a fit.

    Parameters
    ----------
    checked : polars.DataFrame
        ``annotator``, ``p`` and ``misfit`` of the predictive check.
    modes : polars.DataFrame
        ``mode``, ``share``, ``severity_apart``, ``variability_apart``; the best first.
    """
    table = found.table
    together = _together(found)
    yield from link_cautions(table, together, found.settings.object, "φ")
    yield from table.cautions
    yield from reversed_cautions(table, 1 - found.settings.confidence, "φ and ψ are")
    if lonely := raters_alone(table):
        who = "all raters" if len(lonely) == len(table.raters) else listing(lonely, 6)
        yield (
            f"almost every label of {who} is the only one of its item, so that only the model's assumptions separate ψ "
            "from the spread of ideal ratings. If items are parts of a whole, such as segments of a lesson, use the "
            "whole as the item, and its parts as repeats with repeats='each'."
        )
    yield from _linear_cautions(found) if table.linear else _edge_cautions(found)
    rivals = modes.filter((pl.col("mode") > 1) & (pl.col("share") >= RIVAL))
    apart = pl.max_horizontal("severity_apart", "variability_apart") / found.density.layout.unit
    different = rivals.filter(apart > APART)
    if different.height:
        share, phi, psi = different.select("share", "severity_apart", "variability_apart").max().row(0)
        yield (
            f"another local optimum holds {100 * share:.0f}% of the posterior and differs by up to {phi:.2f} in φ and "
            f"{psi:.2f} in ψ; intervals describe only the best one."
        )
    if bad := _misfits(checked):
        yield (
            f"misfit for {listing(bad)} (predictive p ≤ {UNLIKELY}; more than "
            f"{100 * FAR:.0f}% of "
            "labels unexpected). Do not interpret their φ and ψ."
        )


def _together(found: RaterFit) -> list[Ints]:
    """The criteria of each trait."""
    if isinstance(found.density, LinearDensity):
        return found.density.criteria_of_traits()
    return [traits.criteria for traits in found.density.layout.traits if traits.names]


def doubtful_raters(found: RaterFit, checked: pl.DataFrame) -> dict[str, words.Doubt]:
    """Raters whose φ a caution says not to interpret, with the reason; ``edge`` leaves ψ."""
    reasons: dict[str, words.Doubt] = dict.fromkeys(_at_edges(found), "edge")
    reasons |= dict.fromkeys(_misfits(checked), "misfit")
    turned = [name for name, _ in raters_upside_down(found.table, 1 - found.settings.confidence)]
    reasons |= dict.fromkeys(turned, "reversed")
    return {name: reasons[name] for name in found.table.raters if name in reasons}


def _misfits(checked: pl.DataFrame) -> list[str]:
    return checked.filter((pl.col("p") <= UNLIKELY) & (pl.col("misfit") > FAR))["annotator"].to_list()


def _at_edges(found: RaterFit) -> list[str]:
    if found.table.linear:
        return []
    return [name for name, psi in zip(found.table.raters, found.variability.value, strict=True) if psi < EXACT]


def _edge_cautions(found: RaterFit) -> Iterator[str]:
    exact = _at_edges(found)
    if exact:
        yield (
            f"ψ of {listing(exact, 6)} is below {EXACT}: φ is at the edge between two categories. Do not interpret "
            "their φ "
            "or its interval."
        )


def _linear_cautions(found: RaterFit) -> Iterator[str]:
    table = found.table
    least = EXACT_NUMBERS * found.density.layout.unit
    exact = [name for name, psi in zip(table.raters, found.variability.value, strict=True) if psi < least]
    if exact:
        yield (
            f"ψ of {listing(exact, 6)} is close to 0: the ideal ratings are estimated as these labels. Check whether "
            "others copied them; with two or three raters this can also be chance."
        )
    if (share := share_at_ends(table)) > ENDS:
        yield (
            f"{100 * share:.0f}% of labels are at an end of the scale, where a normal distribution is cut: differences "
            "in φ and ψ are underestimated. Use the categorical model, with labels in at most 20 categories."
        )


# -- Sentences --------------------------------------------------------------------------------------


def _sentences(found: RaterModel) -> Iterator[str]:
    if not found.converged:
        yield f"NOT CONVERGED: {'; '.join(found.diagnostics.problems)}. Do not use these numbers{_remedy(found)}."
    fitted = found.fitted
    if fitted.table.crowd:
        yield words.crowd_line(fitted.table.counts.sum(axis=0))
    if fitted.normal:
        yield words.approximation_line(fitted.table.counts.sum(axis=0), FEW_LABELS)
    elif fitted.chains is not None and found.converged:
        worst = float(found.diagnostics.rows["rhat"].to_numpy().max())
        least = float(found.diagnostics.rows["effective_draws"].to_numpy().min())
        yield (
            f"Converged: R-hat at most {worst:.3f}, at least {least:,.0f} effective draws, "
            f"{counted(fitted.chains.divergences, 'divergence')}."
        )
    alpha, unit = 1 - fitted.settings.confidence, found.unit
    yield words.model_line(unit, fitted.table.categories)
    doubtful = found.doubtful
    yield from words.doubtful_lines(doubtful)
    severe = found.rows.filter(~pl.col("annotator").is_in(list(doubtful)))
    yield from words.severity_lines(severe, alpha, unit, -1)
    misfit = [name for name, why in doubtful.items() if why != "edge"]
    rows = _variability_rows(found, alpha)
    yield from words.variability_lines(rows.filter(~pl.col("annotator").is_in(misfit)), unit)
    for one in _judges_minus_humans(found):
        yield words.judge_line(one, unit, doubtful)
    if found.fairness is not None:
        yield from found.fairness.sentences(fitted.rope, unit, doubtful)
    if found.groups is not None:
        yield from words.group_lines(found.groups, fitted.settings.by or "", unit)
    if fitted.normal or fitted.chains is not None:
        partial = len(fitted.table) > MANY_LABELS
        yield words.optima_line(found.modes, fitted.settings.starts, RIVAL, partial=partial)


def _remedy(found: RaterModel) -> str:
    if found.fitted.chains is None and not found.fitted.normal:
        return "; try another seed, or MCMC (omit --quick)"
    if found.fitted.chains is None:
        return "; try more starts, or MCMC (omit --quick)"
    return f"; take more draws (draws={2 * found.fitted.settings.draws}), or inspect the local optima"


def _variability_rows(found: RaterModel, alpha: float) -> pl.DataFrame:
    """Every rater with ``away``, its ln ψ minus the mean, and ``different``, whether that is significant."""
    logs = np.log(found.variability.replicates)
    at = np.log(found.variability.value)
    p = simultaneous_p(at - at.mean(), logs - logs.mean(axis=1, keepdims=True))
    return found.rows.with_columns(away=pl.Series(at - at.mean()), different=pl.Series(p <= alpha))


def _judges_minus_humans(found: RaterModel) -> Iterator[Estimate]:
    judge = found.fitted.table.is_judge.astype(bool)
    if judge.any() and not judge.all():
        weights: Floats = np.where(judge, 1 / judge.sum(), -1 / (~judge).sum())
        yield found.severity.contrast(weights)[0]
