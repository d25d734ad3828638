"""Who is severe, who is erratic, who is unfair? The hierarchical rater model, of people and judges alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DataError, counted, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, simultaneous_p
from assay.estimation.options import question
from assay.estimation.result import ResultOfRows, Run
from assay.estimation.statistic import Floats
from assay.psychometrics import plots
from assay.psychometrics.raters.fairness import Fairness, fairness
from assay.psychometrics.raters.fit import MANY_LABELS, RaterFit, fit
from assay.psychometrics.raters.results import (
    FAR,
    UNLIKELY,
    Diagnostics,
    diagnose,
    ideal_ratings,
    modes_frame,
    others_sentence,
    predictive,
    severity_sentences,
    traits,
)
from assay.psychometrics.raters.table import RaterSettings, link_cautions, rater_table, raters_alone, raters_upside_down
from assay.reporting.tables import estimated, interval, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RIVAL = 0.05
"""Another mode is mentioned from this share of the mass: with less, no 95% interval would reach it."""

APART = 0.05
"""Modes whose φ or ψ differ by more, in categories, would say something else of raters."""

EXACT = 0.15
"""Labels without any scatter have a ψ of about .25, where the prior leaves it; a smaller one is of a φ on an edge."""


@dataclass(frozen=True, eq=False)
class RaterModel(ResultOfRows):
    """Severity and consistency of every rater.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a rater: ``annotator``, ``kind``, ``estimate`` (φ in categories, centred over raters: below 0 is severer
        than their mean) with ``low`` and ``high``, ``p_adjusted`` of φ = 0 over all raters; ``psi`` with its ends: the
        standard deviation of labels around the ideal rating, in categories; ``labels``; ``fit_p`` and ``misfit`` of the
        predictive check; ``rhat`` and ``effective_draws``, the worse of φ and ψ.
    modes : polars.DataFrame
        One row a maximum of the posterior that a start led to: ``share`` of the mass, ``severity_apart`` and
        ``variability_apart``, how far its φ and ψ are from the best's.
    items : polars.DataFrame
        One row a criterion (and group): ``categories``, ``slope`` of each trait, ``spread``, by which ψ is larger.
    diagnostics : Diagnostics
    fairness : Fairness or None
        Where a group was named.
    run : Run

    ``severity`` and ``variability`` hold φ and ψ of each rater: ``severity[0].interval(.9)`` is another interval of the
    first, ``severity[0].p(0)`` its p-value.
    """

    symbol: ClassVar[str] = "φ"

    rows: pl.DataFrame
    modes: pl.DataFrame
    items: pl.DataFrame
    diagnostics: Diagnostics
    fairness: Fairness | None
    run: Run
    fitted: RaterFit = field(repr=False, metadata={"json": False})

    def row_estimates(self) -> Sequence[Estimate]:
        """The severity of each rater."""
        return tuple(self.severity)

    @property
    def converged(self) -> bool:
        """Whether nothing speaks against the fit."""
        return self.diagnostics.converged

    @property
    def severity(self) -> Estimates:
        """φ of each rater, centred over raters, in the order of the table; ask for a ``contrast`` of some."""
        return self.fitted.severity

    @property
    def variability(self) -> Estimates:
        """ψ of each rater, in the order of the table."""
        return self.fitted.variability

    @cached_property
    def ideal(self) -> pl.DataFrame:
        """The ideal rating of each item, with its uncertainty: ``ideal``, ``certainty``, ``expected``, ``sd``."""
        return ideal_ratings(self.fitted)

    @cached_property
    def traits(self) -> pl.DataFrame:
        """The trait of each subject: ``subject``, ``trait``, ``estimate``, ``sd``."""
        return traits(self.fitted)

    def compare(self, first: str, second: str) -> Estimate:
        """φ of one rater less φ of another.

        Raises
        ------
        DataError
            For a name that is no rater's.
        """
        names = self.rows["annotator"].to_list()
        for name in (first, second):
            if name not in names:
                raise DataError(unknown("rater", name, names))
        weights = np.zeros(len(names))
        weights[names.index(first)], weights[names.index(second)] = 1, -1
        return self.severity.contrast(weights)[0]

    def sentences(self) -> tuple[str, ...]:
        """Whether to trust the rest; then who is severe, erratic, unfair, and who is not shown to be."""
        return tuple(_sentences(self))

    def summary(self) -> str:
        """Whether the fit converged, who is severe, who is erratic, who is unfair."""
        return "\n".join([*self.sentences(), *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Severity against variability of every rater: severe left, lenient right, erratic on top."""
        return plots.raters(self.rows, self.converged, ax)

    def plot_fairness(self, ax: Axes | None = None) -> Axes:
        """Each rater's difference between groups against that of its variability."""
        return plots.fairness(self.fairness, self.run.settings, ax)  # type: ignore[arg-type]

    def plot_ideal(self, ax: Axes | None = None) -> Axes:
        """The shares of ideal ratings beside those of the labels, criterion by criterion."""
        return plots.ideal(self.fitted, ax)


@question(RaterSettings)
def rater_model(labels: Annotations | Chunks, settings: RaterSettings) -> RaterModel:
    """Who is severe, who is erratic, who is unfair? The hierarchical rater model (Patz et al. 2002).

    Each item has an ideal rating ξ on each criterion, which its trait θ makes more or less likely (generalized partial
    credit, eq. 5 of Hardy 2025); a rater's label is the ideal rating plus the rater's severity φ, blurred by the
    rater's variability ψ: p(k | ξ, r) ∝ exp(−(k − (ξ + φ))² / 2ψ²), eq. 6. φ = φ_r + η_j and ln ψ = ln ψ_r + ln τ_j of
    rater r and criterion j, after Mariano and Junker (2007). ξ is summed out, θ integrated by Gauss–Hermite quadrature.

    Only what is identified is reported: φ centred over raters, differences, ψ. A shift that all raters share cannot be
    told from items that deserve it.

    Parameters
    ----------
    labels : Annotations
        Labels in ordered categories; criteria may have different numbers of them, and nobody need label everything.

    Returns
    -------
    RaterModel

    Raises
    ------
    DesignError
        For labels that are no ordered categories, fewer than two raters, a group that no two raters share.
    DataError
        For a column that is not there, or items without a value in it.
    MissingExtra
        Without the extra ``raters``, unless ``quick``.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(60, 4, scale="1-5", judges={"gpt": 0.3}, seed=2)
    >>> found = assay.rater_model(labels, quick=True, starts=2)
    >>> found.rows["annotator"].to_list(), round(sum(found.rows["estimate"]), 6)
    (['ann_1', 'ann_2', 'ann_3', 'ann_4', 'gpt'], 0.0)
    """
    return _result(fit(rater_table(labels.in_memory("a rater model"), settings), settings))


def _result(found: RaterFit) -> RaterModel:
    table, settings = found.table, found.settings
    checked, modes, diagnosis = predictive(found), modes_frame(found), diagnose(found)
    fair = fairness(found) if settings.group else None
    n = settings.chains * settings.draws
    level = f"{100 * settings.confidence:g}%"
    how = (
        f"{level}, by the quick road: {n:,} draws of a normal with the observed information, seed {settings.seed}"
        if found.chains is None
        else f"{level} of {n:,} draws of the posterior ({settings.chains} chains by NUTS), seed {settings.seed}"
    )
    facts = {"raters": len(table.raters), "items": len(table.items), "labels": len(table)}
    if table.criteria != (None,):
        facts["criteria"] = len(table.criteria)
    notes = (*table.notes, *found.density.layout.notes, *(fair.notes if fair else ()))
    cautions = (*_cautions(found, checked, modes), *(fair.cautions if fair else ()))
    run = Run("rater-model", settings, table.fingerprint, facts, how, table.exclusions, notes, cautions)
    rows = _rows(found, checked, diagnosis)
    return RaterModel(rows, modes, _items(found), diagnosis, fair, run, found)


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
    """One row a criterion."""
    table, density, x = found.table, found.density, found.center
    spread = (density.layout.psi @ x).reshape(density.layout.shape)[0].mean(axis=1)
    rows = []
    for grid in density.grids:
        slopes = density.slopes(x, np, grid)
        for i, j in enumerate(grid.traits.criteria):
            shown = {name: float(slopes[i, d]) for d, name in enumerate(grid.traits.names)}
            rows.append(
                {"criterion": table.criteria[j] or "all", "categories": len(table.categories[j]),
                 "spread": float(np.exp(spread[j] - spread.mean())),
                 "slope": ", ".join(f"{n} {v:.2f}" for n, v in shown.items() if v)}
            )  # fmt: skip
    return pl.DataFrame(rows).sort("criterion")


def _cautions(found: RaterFit, checked: pl.DataFrame, modes: pl.DataFrame) -> Iterator[str]:
    table = found.table
    together = [traits.criteria for traits in found.density.layout.traits if traits.names]
    yield from link_cautions(table, together, found.settings.object, "φ")
    if turned := raters_upside_down(table, 1 - found.settings.confidence):
        each = [f"{name} (r = {signed(away)} with the mean of the others)" for name, away in turned]
        yield (
            f"labels run against the others': {listing(each, 6)}; is the scale turned round? Then φ and ψ describe no "
            "rater: turn these labels before they are compared, or leave them out with annotators=..."
        )
    if lonely := raters_alone(table):
        who = "all raters" if len(lonely) == len(table.raters) else listing(lonely, 6)
        yield (
            f"almost every label of {who} is the only one of its item, so only the shape of the model separates ψ from "
            "the scatter of ideal ratings; where items are parts of a whole, such as segments of a lesson, take the "
            "whole as the item, and its parts as repeats that each count."
        )
    exact = [name for name, psi in zip(table.raters, found.variability.value, strict=True) if psi < EXACT]
    if exact:
        yield (
            f"ψ of {listing(exact, 6)} is below {EXACT}, which happens only where φ lies on the edge between two "
            "categories and cannot leave it; neither φ nor its interval says how severe they are."
        )
    rivals = modes.filter((pl.col("mode") > 1) & (pl.col("share") >= RIVAL))
    apart = rivals.filter(pl.max_horizontal("severity_apart", "variability_apart") > APART)
    if apart.height:
        share, phi, psi = apart.select("share", "severity_apart", "variability_apart").max().row(0)
        yield (
            f"another mode holds {100 * share:.0f}% of the posterior and differs by up to {phi:.2f} in φ and "
            f"{psi:.2f} in ψ; intervals describe the best mode alone."
        )
    bad = checked.filter((pl.col("p") <= UNLIKELY) & (pl.col("misfit") > FAR))
    if bad.height:
        yield (
            f"the model does not expect the labels of {listing(bad['annotator'].to_list())} (predictive p at most "
            f"{UNLIKELY}, more than {100 * FAR:.0f}% of labels in other categories); φ and ψ do not describe "
            f"{'this rater' if bad.height == 1 else 'these raters'}."
        )


# -- Words -----------------------------------------------------------------------------------------


def _sentences(found: RaterModel) -> Iterator[str]:
    if not found.converged:
        yield f"NOT CONVERGED: {'; '.join(found.diagnostics.problems)}. Do not use these numbers{_remedy(found)}."
    fitted = found.fitted
    if fitted.chains is None:
        yield "Quick road (penalised maximum likelihood, normal errors): a first look; sample before you publish."
    elif found.converged:
        worst = float(found.diagnostics.rows["rhat"].to_numpy().max())
        least = float(found.diagnostics.rows["effective_draws"].to_numpy().min())
        yield (
            f"Converged: R-hat at most {worst:.3f}, at least {least:,.0f} effective draws, "
            f"{counted(fitted.chains.divergences, 'divergence')}."
        )
    alpha = 1 - fitted.settings.confidence
    yield from severity_sentences(found.rows, alpha, "categories", -1)
    yield from _consistency_sentences(found, alpha)
    yield from _judge_sentence(found)
    if found.fairness is not None:
        yield from found.fairness.sentences(fitted.settings.rope)
    yield _mode_sentence(found)


def _remedy(found: RaterModel) -> str:
    if found.fitted.chains is None:
        return "; try more starts, or sample"
    return f"; take more draws (draws={2 * found.fitted.settings.draws}), or look at the modes"


def _consistency_sentences(found: RaterModel, alpha: float) -> Iterator[str]:
    logs = np.log(found.variability.replicates)
    away = logs - logs.mean(axis=1, keepdims=True)
    at = np.log(found.variability.value)
    p = simultaneous_p(at - at.mean(), away)
    rows = found.rows.with_columns(p=pl.Series(p), away=pl.Series(at - at.mean())).filter(pl.col("p") <= alpha)
    for words, some in (
        ("Less consistent than the raters' mean", rows.filter(pl.col("away") > 0).sort("psi", descending=True)),
        ("More consistent", rows.filter(pl.col("away") < 0).sort("psi")),
    ):
        if some.height:
            each = [
                f"{r['annotator']} ({estimated(r['psi'], r['psi_low'], r['psi_high'])})"
                for r in some.iter_rows(named=True)
            ]
            yield f"{words}, ψ in categories: {listing(each, 6)}."
    yield from others_sentence(found.rows.height - rows.height, found.rows.height, "consistency")


def _judge_sentence(found: RaterModel) -> Iterator[str]:
    judge = found.fitted.table.is_judge.astype(bool)
    if judge.any() and not judge.all():
        weights: Floats = np.where(judge, 1 / judge.sum(), -1 / (~judge).sum())
        one = found.severity.contrast(weights)[0]
        yield f"Judges less people, mean severity: {signed(one.estimate)} categories {interval(one.low, one.high)}."


def _mode_sentence(found: RaterModel) -> str:
    modes, starts = found.modes, counted(found.fitted.settings.starts, "start")
    if len(found.fitted.table) > MANY_LABELS:
        starts = f"The best of {starts} on a part of the subjects"
    if modes.height == 1:
        return f"{starts} led to one mode."
    apart = modes.filter(pl.col("mode") > 1)
    near = apart.filter(pl.col("share") >= RIVAL)
    share = f"{100 * modes['share'][0]:.0f}% of their mass"
    words = f"{starts} led to {modes.height} modes; the best has {share}"
    if near.height:
        phi, psi = near.select("severity_apart", "variability_apart").max().row(0)
        words += f", those with {100 * RIVAL:.0f}% or more move φ by up to {phi:.2f} and ψ by up to {psi:.2f}"
    return words + "."
