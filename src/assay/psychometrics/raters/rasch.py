"""How severe is each rater, the simple way? The many-facet Rasch model (Linacre 1989).

    ln p(k) / p(k − 1) = σ θ − λ_r − δ_j − τ_jk

of subject, rater r and criterion j: severity λ, difficulty δ and steps τ in logits. The trait θ is a standard normal
that is integrated out (marginal maximum likelihood), so that few labels of a subject do no harm; joint maximum
likelihood, which FACETS uses, makes all logits too large by about L / (L − 1) with L labels of a subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks, in_memory
from assay.errors import listing
from assay.estimation.intervals import Estimate, Estimates, adjust_p, simultaneous_p
from assay.estimation.options import question
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.raters.density import contrasts, quadrature
from assay.psychometrics.raters.fit import Mode, Quantity, climb, estimate_from_draws, mode_near, widths
from assay.psychometrics.raters.results import severity_sentences
from assay.psychometrics.raters.table import RaschSettings, RaterTable, distinct_contents, link_cautions, rater_table
from assay.reporting import pictures
from assay.reporting.tables import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_DRAWS = 4000
"""Draws of the normal: ends of intervals are known to about a hundredth of their width."""

WIDE = {"severity": 3.0, "steps": 5.0, "spread": 1.0}
"""Standard deviations of the weak normal priors on λ, δ + τ and ln σ, which keep estimates finite."""

MISFIT = 1.3
"""Mean squares beyond this, or below its inverse, are reported where they are no chance (Wright and Linacre 1994)."""


@dataclass(frozen=True, eq=False)
class FacetRasch(Result):
    """Severity and fit of every rater, in logits.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a rater: ``annotator``, ``kind``, ``estimate`` (λ, centred over raters: above 0 is severe), its ends,
        ``p_adjusted`` of λ = 0 over all raters, ``fair_average`` (the label to expect from this rater on a subject in
        the middle, mean over criteria), ``infit`` and ``outfit`` (mean squares, 1 as the model expects), ``fit_p``
        (corrected for the number of raters), ``labels``.
    items : polars.DataFrame
        One row a criterion: ``difficulty`` δ with its ends, ``steps`` τ, lowest first.
    spread : Estimate
        σ, the standard deviation of subjects in logits.
    reliability : float
        Share of the variance of severities that is no error: how reproducibly raters differ.
    run : Run
    severity, difficulty : Estimates
        λ of each rater and δ of each criterion; ``severity[0].interval(.9)`` is another interval of the first.
    converged : bool
    """

    symbol: ClassVar[str] = "λ"

    rows: pl.DataFrame
    items: pl.DataFrame
    spread: Estimate
    reliability: float
    run: Run
    severity: Estimates = field(repr=False, metadata={"json": False})
    difficulty: Estimates = field(repr=False, metadata={"json": False})
    converged: bool = True

    @property
    def table(self) -> pl.DataFrame:
        """The raters."""
        return self.rows

    def row_estimates(self) -> Sequence[Estimate]:
        """The severity of each rater."""
        return tuple(self.severity)

    def sentences(self) -> tuple[str, ...]:
        """Who is severe, who does not fit."""
        return tuple(_sentences(self))

    def summary(self) -> str:
        """Who is severe, who does not fit."""
        return "\n".join([*self.sentences(), f"Intervals: {self.run.interval}.", *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Severity of every rater, the severest on top."""
        rows = self.rows.sort("estimate", descending=True).head(pictures.MOST_ROWS)
        ax = pictures.axes(ax, height=1.1 + 0.28 * max(rows.height, 2))
        colour = [pictures.JUDGE if k == "judge" else pictures.HUMAN for k in rows["kind"]]
        ends = (rows[c].to_list() for c in ("estimate", "low", "high"))
        pictures.forest(ax, rows["annotator"].to_list(), *ends, colour=colour)
        ax.axvline(0, color=pictures.FAINT, linewidth=1, zorder=0)
        ax.set_xlabel("← lenient    λ, logits    severe →")
        return ax


@question(RaschSettings)
def many_facet_rasch(labels: Annotations | Chunks, settings: RaschSettings) -> FacetRasch:
    """How severe is each rater, and who rates as nobody would expect? The many-facet Rasch model.

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
        For labels that are no ordered categories, or fewer than two raters.
    DataError
        For a column that is not there, or items without a value in it.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(60, 4, scale="1-5", judges={"gpt": 0.3}, seed=2)
    >>> found = assay.many_facet_rasch(labels)
    >>> abs(round(sum(found.rows["estimate"]), 6))
    0.0
    """
    table = rater_table(in_memory(labels, "a Rasch model"), settings)
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
        """Different subjects by block, rater and category, sparse; how many are like each."""
        from scipy.sparse import csr_matrix

        table = self.table
        _, patterns, count = distinct_contents(table.subject, table.column, len(table.subjects))
        start = np.concatenate([[0], np.cumsum([len(p) for p in patterns])])
        width = table.n_blocks * len(table.raters) * table.n_categories
        counts = csr_matrix((np.ones(start[-1]), np.concatenate(patterns), start), shape=(len(patterns), width))
        return counts, count.astype(float)

    @cached_property
    def steps(self) -> Ints:
        """Where the steps of each criterion stand: (criteria, categories − 1), −1 for none."""
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
        """Of the priors: (p,)."""
        n = len(self.table.raters) - 1, int((self.table.sizes - 1).sum()), 1
        return np.repeat(list(WIDE.values()), n)

    def start(self) -> Floats:
        """Steps from the shares of labels."""
        x = np.zeros(len(self.sd))
        for j, places in enumerate(self.steps):
            size = self.table.sizes[j]
            shares = np.bincount(self.table.value[self.table.criterion == j], minlength=size) + 0.5
            x[places[: size - 1]] = np.clip(-np.diff(np.log(shares)), -3, 3)
        return x

    def log_p(self, x: Floats) -> Floats:
        """log p(k) at each point: (criteria, raters, categories, q)."""
        k = np.arange(self.table.n_categories)
        climbed = np.where(self.steps >= 0, x[self.steps], np.inf)
        height = np.concatenate([np.zeros((len(climbed), 1)), np.cumsum(climbed, axis=1)], axis=1)
        tilt = np.exp(x[-1]) * self.grid[0] - (self.severity @ x)[:, None]
        logits = k[:, None] * tilt[None, :, None, :] - height[:, None, :, None]
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
        """The log posterior, but for a constant."""
        return self.weights(self.log_p(x))[0] - 0.5 * float(((x / self.sd) ** 2).sum())

    def value_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        """The log posterior and its gradient."""
        log_p = self.log_p(x)
        value, spread = self.weights(log_p)
        lean = spread - np.exp(log_p) * spread.sum(axis=2, keepdims=True)
        k = np.arange(self.table.n_categories)[:, None]
        per_tilt = (lean * k).sum(axis=2)
        slope = -x / self.sd**2 - per_tilt.sum(axis=(0, 2)) @ self.severity
        slope[-1] += float((per_tilt * self.grid[0]).sum()) * np.exp(x[-1])
        from_top = np.cumsum(lean.sum(axis=(1, 3))[:, ::-1], axis=1)[:, ::-1][:, 1:]
        np.add.at(slope, self.steps[self.steps >= 0], -from_top[self.steps >= 0])
        return value - 0.5 * float(((x / self.sd) ** 2).sum()), slope

    def mean_squares(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Infit, outfit and a z of infit (Wilson–Hilferty) of each rater: residuals, weighted by where θ may be."""
        log_p = self.log_p(x)
        _, spread = self.weights(log_p)
        p, k = np.exp(log_p), np.arange(self.table.n_categories)[:, None]
        mean = (p * k).sum(axis=2)
        away = k - mean[:, :, None, :]
        variance, fourth = ((p * np.where(p > 0, away, 0.0) ** e).sum(axis=2) for e in (2, 4))
        labels = spread.sum(axis=2)
        variance = np.maximum(variance, 1e-9)
        squares = (spread * away**2).sum(axis=2)
        expected = (labels * variance).sum(axis=(0, 2))
        infit = squares.sum(axis=(0, 2)) / expected
        outfit = (squares / variance).sum(axis=(0, 2)) / labels.sum(axis=(0, 2))
        error = np.sqrt((labels * np.maximum(fourth - variance**2, 0)).sum(axis=(0, 2))) / expected
        z = (np.cbrt(infit) - 1) * 3 / error + error / 3
        return infit, outfit, z


def _result(rasch: Rasch, best: Mode, settings: RaschSettings) -> FacetRasch:
    table = rasch.table
    draws = best.normal_draws(N_DRAWS, settings.seed, 11)

    def estimates(of: Quantity) -> Estimates:
        return estimate_from_draws(of(best.x), of(draws), table, settings)

    severity = estimates(lambda x: x @ rasch.severity.T)
    steps = [rasch.steps[j, : n - 1] for j, n in enumerate(table.sizes)]
    difficulty = estimates(lambda x: np.stack([x[..., one].mean(axis=-1) for one in steps], -1))
    spread = estimates(lambda x: np.exp(x[..., -1:]))[0]
    variance = float(np.var(severity.value, ddof=1))
    reliability = 1 - float(np.mean(severity.standard_error**2)) / variance if variance > 0 else 0.0
    how = (
        f"{100 * settings.confidence:g}% of {N_DRAWS:,} draws of a normal with the observed information, "
        f"seed {settings.seed}"
    )
    facts = {"raters": len(table.raters), "items": len(table.items), "labels": len(table)}
    cautions = [] if best.arrived else ["the fit stopped before a maximum."]
    cautions += link_cautions(table, [np.arange(len(table.criteria))], settings.object, "λ")
    run = Run(
        "many-facet-rasch", settings, table.fingerprint, facts, how, table.exclusions, table.notes, tuple(cautions)
    )
    items = [
        {"criterion": name or "all", "difficulty": hard.estimate, "difficulty_low": hard.low,
         "difficulty_high": hard.high, "steps": ", ".join(signed(float(v - hard.estimate)) for v in best.x[one])}
        for name, hard, one in zip(table.criteria, difficulty, steps, strict=True)
    ]  # fmt: skip
    rows, n = _rows(rasch, best, severity), max(reliability, 0.0)
    return FacetRasch(rows, pl.DataFrame(items), spread, n, run, severity, difficulty, best.arrived)


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
    alpha = 1 - found.severity.confidence
    yield from severity_sentences(found.rows, alpha, "logits", 1)
    off = found.rows.filter(pl.col("fit_p") <= alpha)
    for words, some in (
        ("Labels that the model does not expect (infit)", off.filter(pl.col("infit") > MISFIT)),
        ("More predictable than the model expects (infit)", off.filter(pl.col("infit") < 1 / MISFIT)),
    ):
        if some.height:
            each = [f"{r['annotator']} ({r['infit']:.2f})" for r in some.sort("infit").iter_rows(named=True)]
            yield f"{words}: {listing(each, 6)}."
    yield f"Severities differ with a reliability of {found.reliability:.2f}."
