"""The many-facet Rasch model (Linacre 1989): severity and fit of raters.

    ln p(k) / p(k − 1) = σ θ − λ_r − δ_j − τ_jk

for a subject, rater r and criterion j: severity λ, difficulty δ and steps τ in logits. The trait θ is a standard normal
that is integrated out (marginal maximum likelihood), so that few labels per subject cause no bias; joint maximum
likelihood, which FACETS uses, makes all logits too large by about L / (L − 1) with L labels per subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.estimation.intervals import Estimate, Estimates, adjust_p, simultaneous_p
from assay.estimation.options import question
from assay.estimation.result import ResultOfRows, Run
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics import words
from assay.psychometrics.raters.density import contrasts, quadrature
from assay.psychometrics.raters.fit import Mode, Quantity, climb, estimate_from_draws, mode_near, widths
from assay.psychometrics.raters.table import (
    RaschSettings,
    RaterTable,
    distinct_contents,
    link_cautions,
    rater_table,
    reversed_cautions,
    shared_error_notes,
    widened,
)
from assay.reporting import pictures
from assay.reporting.tables import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_DRAWS = 4000
"""Draws of the normal: limits of intervals are accurate to about a hundredth of their width."""

WIDE = {"severity": 3.0, "steps": 5.0, "spread": 1.0}
"""Standard deviations of the weak normal priors on λ, δ + τ and ln σ, which keep estimates finite."""

STEP = 1e-4
"""Step of numerical differences of the gradient: errors of 1e-8, compared with information of at least 1."""

MOST_BIASES = 600
"""Largest number of raters times criteria for which biases are estimated: more take minutes."""


@dataclass(frozen=True, eq=False)
class FacetRasch(ResultOfRows):
    """Severity and fit of every rater, in logits.

    Attributes
    ----------
    rows : polars.DataFrame
        One row per rater: ``annotator``, ``kind``, ``estimate`` (λ, centred over raters: above 0 is severe), ``low``,
        ``high``, ``p_adjusted`` of λ = 0 over all raters, ``fair_average`` (expected label for an average subject, mean
        over criteria), ``infit`` and ``outfit`` (mean squares with expectation 1), ``fit_p`` (adjusted for the number
        of raters), ``labels``.
    items : polars.DataFrame
        One row per criterion: ``difficulty`` δ with its interval, ``steps`` τ, lowest first, ``infit`` and ``outfit``.
    subjects : polars.DataFrame
        One row per subject: ``estimate`` of σθ in logits and its ``standard_error`` (mean and standard deviation of the
        posterior, so that few labels shrink it to 0), ``infit``, ``outfit``, ``labels``.
    bias : polars.DataFrame
        One row per rater and criterion, with several criteria: ``estimate``, the additional severity of the rater on
        this criterion in logits (one scoring step), ``standard_error``, ``p_adjusted`` (Holm, over all rows).
    separation : polars.DataFrame
        One row for raters, criteria and subjects: ``rmse`` of their estimates, ``sd`` without that error,
        ``separation`` (sd over rmse), ``strata`` (distinct levels, (4 separation + 1) / 3), ``reliability`` (share of
        true variance); NaN with a ``reason`` if not estimable.
    spread : Estimate
        σ, the standard deviation of subjects in logits.
    reliability : float
        Reliability of separation of raters' severities.
    run : Run
    severity, difficulty : Estimates
        λ of each rater and δ of each criterion; ``severity[0].interval(.9)`` is another interval of the first.
    converged : bool
    """

    symbol: ClassVar[str] = "λ"

    rows: pl.DataFrame
    items: pl.DataFrame
    subjects: pl.DataFrame
    bias: pl.DataFrame
    separation: pl.DataFrame
    spread: Estimate
    run: Run
    severity: Estimates = field(repr=False, metadata={"json": False})
    difficulty: Estimates = field(repr=False, metadata={"json": False})
    converged: bool

    @property
    def reliability(self) -> float:
        """Reliability of separation of severities: their share of true variance."""
        return float(self.separation["reliability"][0])

    def row_estimates(self) -> Sequence[Estimate]:
        """The severity of each rater."""
        return tuple(self.severity)

    def sentences(self) -> tuple[str, ...]:
        """Severity, fit and reliability of separation in sentences."""
        return tuple(_sentences(self))

    def summary(self) -> str:
        """Severity, fit and reliability of separation in sentences."""
        return "\n".join([*self.sentences(), *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Forest plot of severities, the most severe rater on top."""
        rows = self.rows.sort("estimate", descending=True).head(pictures.MOST_ROWS)
        ax = pictures.axes(ax, height=1.1 + 0.28 * max(rows.height, 2))
        colour = [pictures.JUDGE if k == "judge" else pictures.HUMAN for k in rows["kind"]]
        pictures.forest_of_rows(ax, rows["annotator"].to_list(), rows, colour=colour)
        ax.axvline(0, color=pictures.FAINT, linewidth=1, zorder=0)
        ax.set_xlabel("← lenient    λ, logits    severe →")
        return ax

    def plot_map(self, ax: Axes | None = None) -> Axes:
        """The Wright map: subjects, raters, criteria and steps on one axis of logits, high values on top."""
        ax = pictures.axes(ax, width=6.6, height=5.2)
        place = self.subjects["estimate"].to_numpy()
        count, edge = np.histogram(place, bins=min(24, max(6, len(place) // 4)))
        ax.barh((edge[:-1] + edge[1:]) / 2, count / count.max() * 0.9, height=0.9 * np.diff(edge), color=pictures.FAINT)
        steps = []
        for row in self.items.iter_rows(named=True):
            name = f"{row['criterion']} " if self.items.height > 1 else ""
            heights = [row["difficulty"] + float(v) for v in row["steps"].replace("−", "-").split(", ")]
            steps += [(f"{name}step {k}", at) for k, at in enumerate(heights, 1)]
        raters = self.rows.select("annotator", "estimate").rows()
        criteria = self.items.select("criterion", "difficulty").rows() if self.items.height > 1 else []
        colours = (pictures.HUMAN, pictures.JUDGE, pictures.MUTED)
        for column, (some, colour) in enumerate(zip((raters, criteria, steps), colours, strict=True), 1):
            for name, at in some[: pictures.MOST_ROWS]:
                ax.plot([column + 0.1], [at], marker="_", color=colour, markersize=9)
                ax.annotate(str(name), (column + 0.16, at), fontsize=7, color=colour, va="center")
        ax.set_xticks([0.45, 1.4, 2.4, 3.4], ["subjects", "raters", "criteria", "steps"])
        ax.set_xlim(0, 4)
        ax.set_ylabel("logits: able, severe, hard ↑")
        return ax


@question(RaschSettings)
def many_facet_rasch(labels: Annotations | Chunks, settings: RaschSettings) -> FacetRasch:
    """Estimate rater severity and fit with a many-facet Rasch model.

    The sign of λ is opposite to that of φ in the hierarchical rater model: λ > 0 is more severe.

    Parameters
    ----------
    labels : Annotations
        Labels in ordered categories.

    Returns
    -------
    FacetRasch

    Raises
    ------
    DesignError
        For labels that are not ordered categories, or fewer than two raters.
    DataError
        For a missing column, or items without a value in it.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(60, 4, scale="1-5", judges={"gpt": 0.3}, seed=2)
    >>> found = assay.many_facet_rasch(labels)
    >>> abs(round(sum(found.rows["estimate"]), 6))
    0.0
    """
    table = rater_table(labels.in_memory("a Rasch model"), settings)
    rasch = Rasch(table, settings.nodes)
    start = rasch.start()
    best = mode_near(rasch, climb(rasch, start, widths(rasch, start, rasch.sd) * np.identity(len(start)))[0])
    return _result(rasch, best, settings)


@dataclass(frozen=True, eq=False)
class Rasch:
    """The log posterior: (λ by contrasts, δ + τ of each criterion's steps, ln σ)."""

    table: RaterTable
    nodes: int

    @cached_property
    def grid(self) -> tuple[Floats, Floats]:
        """Points (q,) and the logarithms of their weights."""
        return quadrature(self.nodes)

    @cached_property
    def units(self) -> tuple[Any, Floats]:
        """Distinct subjects by block, rater and category, sparse; the number of subjects equal to each."""
        from scipy.sparse import csr_matrix

        table = self.table
        _, patterns, count = distinct_contents(table.subject, table.column, len(table.subjects))
        start = np.concatenate([[0], np.cumsum([len(p) for p in patterns])])
        width = table.n_blocks * len(table.raters) * table.n_categories
        counts = csr_matrix((np.ones(start[-1]), np.concatenate(patterns), start), shape=(len(patterns), width))
        return counts, count.astype(float)

    @cached_property
    def steps(self) -> Ints:
        """Positions of the steps of each criterion: (criteria, categories − 1), −1 for none."""
        found, at = np.full((len(self.table.criteria), self.table.n_categories - 1), -1), len(self.table.raters) - 1
        for j, size in enumerate(self.table.sizes):
            found[j, : size - 1] = np.arange(at, at + size - 1)
            at += size - 1
        return found

    @cached_property
    def severity(self) -> Floats:
        """λ is the product with the parameters: (raters, p)."""
        found = np.zeros((len(self.table.raters), len(self.sd)))
        found[:, : len(found) - 1] = contrasts(len(found))
        return found

    @cached_property
    def sd(self) -> Floats:
        """Standard deviations of the priors: (p,)."""
        n = len(self.table.raters) - 1, int((self.table.sizes - 1).sum()), 1
        return np.repeat(list(WIDE.values()), n)

    def start(self) -> Floats:
        """Starting values: steps from the shares of labels."""
        x = np.zeros(len(self.sd))
        for j, places in enumerate(self.steps):
            size = self.table.sizes[j]
            shares = np.bincount(self.table.value[self.table.criterion == j], minlength=size) + 0.5
            x[places[: size - 1]] = np.clip(-np.diff(np.log(shares)), -3, 3)
        return x

    def log_p(self, x: Floats, bias: Floats | float = 0.0) -> Floats:
        """log p(k) at each point, (criteria, raters, categories, q); ``bias`` adds to severity, (criteria, raters)."""
        k = np.arange(self.table.n_categories)
        climbed = np.where(self.steps >= 0, x[self.steps], np.inf)
        height = np.concatenate([np.zeros((len(climbed), 1)), np.cumsum(climbed, axis=1)], axis=1)
        tilt = np.exp(x[-1]) * self.grid[0] - (self.severity @ x)[:, None]
        moved = tilt - np.broadcast_to(bias, (len(climbed), len(tilt)))[:, :, None]
        logits = k[:, None] * moved[:, :, None, :] - height[:, None, :, None]
        top = logits.max(axis=2, keepdims=True)
        return np.asarray(logits - top - np.log(np.exp(logits - top).sum(axis=2, keepdims=True)))

    def weights(self, log_p: Floats) -> tuple[float, Floats]:
        """The log likelihood; labels of each criterion, rater and category, spread over the points."""
        counts, n = self.units
        flat = np.where(np.isfinite(log_p), log_p, 0.0).reshape(-1, len(self.grid[0]))
        unit = counts @ flat + self.grid[1]
        top = unit.max(axis=1, keepdims=True)
        share = np.exp(unit - top)
        total = share.sum(axis=1, keepdims=True)
        value = float(((top + np.log(total))[:, 0] * n).sum())
        return value, np.asarray(counts.T @ (share / total * n[:, None])).reshape(log_p.shape)

    def value(self, x: Floats) -> float:
        """The log posterior, up to a constant."""
        return self.weights(self.log_p(x))[0] - 0.5 * float(((x / self.sd) ** 2).sum())

    def value_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        """The log posterior and its gradient."""
        value, slope, _ = self.slopes(x)
        return value, slope

    def slopes(self, x: Floats, bias: Floats | float = 0.0) -> tuple[float, Floats, Floats]:
        """The log posterior, its gradient, and that by bias: (criteria, raters)."""
        log_p = self.log_p(x, bias)
        value, spread = self.weights(log_p)
        lean = spread - np.exp(log_p) * spread.sum(axis=2, keepdims=True)
        k = np.arange(self.table.n_categories)[:, None]
        per_tilt = (lean * k).sum(axis=2)
        slope = -x / self.sd**2 - per_tilt.sum(axis=(0, 2)) @ self.severity
        slope[-1] += float((per_tilt * self.grid[0]).sum()) * np.exp(x[-1])
        from_top = np.cumsum(lean.sum(axis=(1, 3))[:, ::-1], axis=1)[:, ::-1][:, 1:]
        np.add.at(slope, self.steps[self.steps >= 0], -from_top[self.steps >= 0])
        return value - 0.5 * float(((x / self.sd) ** 2).sum()), slope, -per_tilt.sum(axis=2)

    def biases(self, x: Floats) -> tuple[Floats, Floats]:
        """One scoring step of each rater's additional severity on each criterion, and its standard error.

        The score of a bias over its information given the other parameters (a Lagrange multiplier step,
        Rao 1948): (criteria, raters).
        """
        shape = len(self.table.criteria), len(self.table.raters)
        n = len(x)
        whole = np.zeros((n + int(np.prod(shape)),) * 2)
        for k, step in enumerate(np.eye(len(whole)) * STEP):
            each = [
                np.concatenate([g, b.ravel()])
                for sign in (1, -1)
                for _, g, b in [self.slopes(x + sign * step[:n], sign * step[n:].reshape(shape))]
            ]
            whole[k] = (each[1] - each[0]) / (2 * STEP)
        whole = (whole + whole.T) / 2
        across = whole[n:, :n]
        own = np.diag(whole)[n:] - np.einsum("ij,ij->i", across @ np.linalg.inv(whole[:n, :n]), across)
        score = self.slopes(x)[2].ravel()
        known = own > 1e-6
        safe = np.where(known, own, 1.0)
        found, error = np.where(known, score / safe, np.nan), np.where(known, 1 / np.sqrt(safe), np.nan)
        return found.reshape(shape), error.reshape(shape)

    def subjects(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """σθ (posterior mean and standard deviation), infit and outfit of each subject."""
        log_p = self.log_p(x)
        counts, _ = self.units
        flat = np.where(np.isfinite(log_p), log_p, 0.0).reshape(-1, len(self.grid[0]))
        unit = counts @ flat + self.grid[1]
        share = np.exp(unit - unit.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        at = np.exp(x[-1]) * self.grid[0]
        mean = share @ at
        sd = np.sqrt(np.maximum(share @ at**2 - mean**2, 0.0))
        squares, variance, _ = self._residuals(log_p)
        over = np.broadcast_to(variance[:, :, None, :], squares.shape)
        sums = [(share * (counts @ one.reshape(flat.shape))).sum(axis=1) for one in (squares, over, squares / over)]
        labels = np.asarray(counts.sum(axis=1)).ravel()
        of = distinct_contents(self.table.subject, self.table.column, len(self.table.subjects))[0]
        return mean[of], sd[of], (sums[0] / sums[1])[of], (sums[2] / labels)[of]

    def _residuals(self, log_p: Floats) -> tuple[Floats, Floats, Floats]:
        """Squares of each category's distance from the mean, their expectation and that of fourth powers, by point."""
        p, k = np.exp(log_p), np.arange(self.table.n_categories)[:, None]
        away = k - (p * k).sum(axis=2)[:, :, None, :]
        variance, fourth = ((p * np.where(p > 0, away, 0.0) ** e).sum(axis=2) for e in (2, 4))
        return away**2, np.maximum(variance, 1e-9), fourth

    def mean_squares(self, x: Floats, of: int = 1) -> tuple[Floats, Floats, Floats]:
        """Infit, outfit and a z of infit (Wilson–Hilferty) of each rater: residuals, weighted by the posterior of θ.

        With ``of`` 0, of each criterion.
        """
        log_p = self.log_p(x)
        _, spread = self.weights(log_p)
        each, variance, fourth = self._residuals(log_p)
        labels, others = spread.sum(axis=2), (1 - of, 2)
        squares = (spread * each).sum(axis=2)
        expected = (labels * variance).sum(axis=others)
        infit = squares.sum(axis=others) / expected
        outfit = (squares / variance).sum(axis=others) / labels.sum(axis=others)
        error = np.sqrt((labels * np.maximum(fourth - variance**2, 0)).sum(axis=others)) / expected
        z = (np.cbrt(infit) - 1) * 3 / error + error / 3
        return infit, outfit, z


def _result(rasch: Rasch, best: Mode, settings: RaschSettings) -> FacetRasch:
    table = rasch.table
    draws = best.normal_draws(N_DRAWS, settings.seed, 11)

    def estimates(of: Quantity) -> Estimates:
        return estimate_from_draws(of(best.x), of(draws), table, settings)

    at = rasch.severity @ best.x
    severity = estimates(lambda x: widened(x @ rasch.severity.T, at, table.widening))
    steps = [rasch.steps[j, : n - 1] for j, n in enumerate(table.sizes)]
    difficulty = estimates(lambda x: np.stack([x[..., one].mean(axis=-1) for one in steps], -1))
    spread = estimates(lambda x: np.exp(x[..., -1:]))[0]
    how = (
        f"{100 * settings.confidence:g}% of {N_DRAWS:,} draws of a normal with the observed information, "
        f"seed {settings.seed}"
    )
    facts = {"raters": len(table.raters), "items": len(table.items), "labels": len(table)}
    cautions = [] if best.arrived else ["the fit stopped before a maximum."]
    cautions += link_cautions(table, [np.arange(len(table.criteria))], settings.object, "λ")
    cautions += [*table.cautions, *reversed_cautions(table, 1 - settings.confidence, "λ is")]
    notes = (*table.notes, *shared_error_notes(table, settings.object))
    run = Run("many-facet-rasch", settings, table.fingerprint, facts, how, table.exclusions, notes, tuple(cautions))
    infit, outfit, _ = rasch.mean_squares(best.x, 0)
    items = [
        {"criterion": name or "all", "difficulty": hard.estimate, "difficulty_low": hard.low,
         "difficulty_high": hard.high, "steps": ", ".join(signed(float(v - hard.estimate)) for v in best.x[one]),
         "infit": float(infit[j]), "outfit": float(outfit[j])}
        for j, (name, hard, one) in enumerate(zip(table.criteria, difficulty, steps, strict=True))
    ]  # fmt: skip
    columns = ("estimate", "standard_error", "infit", "outfit")
    subjects = pl.DataFrame({
        "subject": [str(s) for s in table.subjects], **dict(zip(columns, rasch.subjects(best.x), strict=True)),
        "labels": np.bincount(table.subject, minlength=len(table.subjects)),
    })  # fmt: skip
    separation = pl.DataFrame(
        [
            separation_statistics("raters", severity.value, severity.standard_error),
            separation_statistics("criteria", difficulty.value, difficulty.standard_error),
            # A posterior mean has less variance than its estimand, by that of the posterior.
            separation_statistics(
                "subjects", subjects["estimate"].to_numpy(), subjects["standard_error"].to_numpy(), drawn=True
            ),
        ],
        schema_overrides={"reason": pl.String},
    )
    return FacetRasch(
        _rows(rasch, best, severity), pl.DataFrame(items), subjects, _bias(rasch, best), separation, spread, run,
        severity, difficulty, best.arrived,
    )  # fmt: skip


def separation_statistics(facet: str, value: Floats, error: Floats, drawn: bool = False) -> dict[str, Any]:
    """Separation statistics of a facet, as in FACETS (Wright and Masters 1982, chapter 5)."""
    found: dict[str, Any] = {"facet": facet, "n": len(value)}
    names = ("rmse", "sd", "separation", "strata", "reliability")
    if len(value) < 2 or not np.isfinite(error).all():
        unknown = f"only one of {facet}" if len(value) < 2 else "standard errors are not estimable"
        return found | dict.fromkeys(names, np.nan) | {"reason": unknown}
    rmse = float(np.sqrt(np.mean(error**2)))
    true = float(np.var(value, ddof=1)) - (0.0 if drawn else rmse**2)
    sd = float(np.sqrt(max(true, 0.0)))
    ratio = sd / rmse if rmse > 0 else np.nan
    reliability = sd**2 / (sd**2 + rmse**2) if sd + rmse > 0 else np.nan
    why = None if true > 0 else "their differences do not exceed their standard errors"
    values = (rmse, sd, ratio, (4 * ratio + 1) / 3, reliability)
    return found | dict(zip(names, values, strict=True)) | {"reason": why}


def _bias(rasch: Rasch, best: Mode) -> pl.DataFrame:
    """Each rater's additional severity on each criterion."""
    from scipy.special import ndtr

    table = rasch.table
    types = {"annotator": pl.String, "criterion": pl.String, "estimate": pl.Float64, "standard_error": pl.Float64,
             "p_adjusted": pl.Float64}  # fmt: skip
    if len(table.criteria) < 2 or len(table.criteria) * len(table.raters) > MOST_BIASES:
        return pl.DataFrame(schema=types)
    found, error = rasch.biases(best.x)
    p = 2 * ndtr(-np.abs(found / error)).ravel()
    known = np.isfinite(p)
    adjusted = np.full(len(p), np.nan)
    adjusted[known] = adjust_p(p[known], "holm")
    rows = [
        (rater, criterion, float(found[j, r]), float(error[j, r]), float(adjusted[j * len(table.raters) + r]))
        for j, criterion in enumerate(table.criteria) for r, rater in enumerate(table.raters)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=types, orient="row")


def _rows(rasch: Rasch, best: Mode, severity: Estimates) -> pl.DataFrame:
    from scipy.special import ndtr

    table = rasch.table
    infit, outfit, z = rasch.mean_squares(best.x)
    fit_p = adjust_p(2 * ndtr(-np.abs(z)), "holm")
    p = simultaneous_p(severity.value, severity.replicates)
    middle = np.exp(Rasch(table, 1).log_p(best.x))[..., 0]
    low = np.array([c[0] if isinstance(c[0], int) else 0 for c in table.categories])
    fair = ((middle * np.arange(table.n_categories)).sum(axis=2) + low[:, None]).mean(axis=0)
    labels = table.counts.sum(axis=0)
    rows = [
        {"annotator": name, "kind": table.kinds[r], **severity[r].row(),
         "p_adjusted": float(p[r]), "fair_average": float(fair[r]), "infit": float(infit[r]),
         "outfit": float(outfit[r]), "fit_p": float(fit_p[r]), "labels": int(labels[r]), "reason": severity[r].reason}
        for r, name in enumerate(table.raters)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"reason": pl.String})


def _sentences(found: FacetRasch) -> Iterator[str]:
    if not found.converged:
        yield "NOT CONVERGED: the fit stopped before a maximum. Do not use these numbers."
    yield from words.rasch_lines(found.rows, found.bias, found.separation, 1 - found.severity.confidence)
