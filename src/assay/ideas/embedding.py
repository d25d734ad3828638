"""Similarities from few choices: places of texts in a space, fitted to the odd ones out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DesignError, counted
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import LEAST_RESAMPLES, IntervalSettings, Method, question
from assay.estimation.resampling import of_replicates
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.ideas.choices import Choices, EmbeddingSettings
from assay.reporting import pictures
from assay.reporting.tables import said
from assay.statistics.odd_one_out import Model, predicted_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRIED = (1, 2, 3, 4, 6)
"""Dimensions that cross-validation chooses among: beyond, few choices say nothing of more."""

MOST_PAIRS = 20_000
"""Pairs whose similarities are given, at most: each is a mean over all thirds, in every resample anew."""

CHANCE = float(np.log(1 / 3))
"""Mean log likelihood of who does not look."""


@dataclass(frozen=True, eq=False)
class TripletEmbedding(Result):
    """Similarities of all pairs of each document, those never compared too, by a model of the choices.

    Attributes
    ----------
    pairs : polars.DataFrame
        ``document``, ``first``, ``second``, ``estimate`` (equation 1 that endless answers would give, by the model),
        ``low``, ``high``, ``n`` (choices that concern both; 0 where none does), ``reason``.
    places : polars.DataFrame
        ``document``, ``text``, and ``x1``, ``x2`` …: the nearer, the more alike. Documents have spaces of their own.
    dimensions : int
    folds : polars.DataFrame
        ``dimensions``, ``estimate``: mean log likelihood of choices that were left out; −1.10 is chance.
    run : Run
    """

    symbol: ClassVar[str] = "similarity"

    pairs: pl.DataFrame = field(metadata={"json": False})
    places: pl.DataFrame
    dimensions: int
    folds: pl.DataFrame
    run: Run
    estimates: Estimates = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The pairs."""
        return self.pairs

    def row_estimates(self) -> Sequence[Estimate]:
        """The similarity of each pair."""
        return tuple(self.estimates)

    def summary(self) -> str:
        """How well choices are predicted, and how many pairs were never seen."""
        unseen = int((self.pairs["n"] == 0).sum())
        lines = [
            f"{counted(self.pairs.height, 'pair')} from {self.run.facts['choices']} choices in "
            f"{counted(self.dimensions, 'dimension')}; {counted(unseen, 'pair')} never compared."
        ]
        if self.folds.height:
            mine = self.folds.filter(pl.col("dimensions") == self.dimensions)["estimate"][0]
            better = "more" if mine > CHANCE else "no more"
            lines.append(
                f"Choices left out have a mean log likelihood of {said(mine)}: {better} than chance ({said(CHANCE)})."
            )
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The texts of the first document on their two longest axes."""
        ax = pictures.axes(ax, height=4.2)
        mine = self.places.filter(pl.col("document").eq_missing(self.places["document"][0]))
        x = mine.select(c for c in mine.columns if c.startswith("x")).to_numpy()
        x = x - x.mean(axis=0)
        turned = x @ np.linalg.svd(x, full_matrices=False)[2].T
        y = turned[:, 1] if turned.shape[1] > 1 else np.zeros(len(turned))
        ax.plot(turned[:, 0], y, marker="o", linestyle="none", color=pictures.HUMAN, markersize=5)
        for name, a, b in zip(mine["text"].to_list(), turned[:, 0], y, strict=True):
            ax.text(
                a, b, "  " + (name if len(name) < 22 else name[:20] + "…"), fontsize=8, color=pictures.INK, va="center"
            )
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel("near: kept together")
        return ax


@question(EmbeddingSettings)
def triplet_embedding(labels: Annotations | Chunks, settings: EmbeddingSettings) -> TripletEmbedding:
    """How alike are texts of which few pairs were compared? Places in a space, fitted to the odd ones out.

    A choice keeps a pair together with a chance that goes with exp(−squared distance): Luce's rule among the three
    pairs, Bradley and Terry's for two. Where every pair has ten comparisons or more, `assay.triplet_similarity` counts
    and assumes nothing; with one or two, the model ranks pairs better, and gives those that were never compared.

    Parameters
    ----------
    labels : Annotations
        Odd ones out, as in `assay.triplet_similarity`.

    Returns
    -------
    TripletEmbedding
    """
    choices = Choices.of(labels, settings, "triplet_embedding").chosen_by(settings.annotators)
    first, second, pool = _all_pairs(choices)
    scores = _cross_validate(choices, settings) if settings.dimensions is None else {}
    chosen = settings.dimensions or max(scores, key=lambda d: (scores[d], -d))
    order = np.lexsort((choices.odd, choices.item))
    choices = choices.where(order)
    places = _fit(choices, chosen, settings.seed)
    value = predicted_shares(places, first, second, pool)
    drawn = _resample(choices, chosen, places, settings, lambda x: predicted_shares(x, first, second, pool))
    made: Method = "percentile" if len(drawn) else "none"
    how = IntervalSettings(
        method=made, n_resamples=max(settings.n_resamples, LEAST_RESAMPLES), confidence=settings.confidence,
        seed=settings.seed,
    )  # fmt: skip
    found = of_replicates(value, drawn, how, n_items=len(choices), n_units=choices.n_triplets, unit="triplets")
    table = choices.named_pairs(first, second).with_columns(
        estimate=pl.Series(value), low=pl.Series(found.low), high=pl.Series(found.high),
        n=pl.Series(_comparisons(choices, first, second)), reason=pl.Series(found.reasons, dtype=pl.String),
    )  # fmt: skip
    columns = {f"x{k + 1}": pl.Series(places[:, k]) for k in range(chosen)}
    rows = pl.DataFrame(
        {"dimensions": list(scores), "estimate": list(scores.values())},
        schema={"dimensions": pl.Int64, "estimate": pl.Float64},
    )
    run = Run(
        "triplet-embedding", settings, choices.data, choices.facts, found.describe_interval() if len(drawn) else "",
        choices.exclusions,
    )  # fmt: skip
    return TripletEmbedding(table, choices.texts.with_columns(**columns), chosen, rows, run, found)


def _fit(choices: Choices, dimensions: int, seed: int, start: Floats | None = None) -> Floats:
    return Model.of(choices.member, choices.odd, choices.texts.height, dimensions).fit(start, seed)


def _all_pairs(choices: Choices) -> tuple[Ints, Ints, list[Ints]]:
    """Every pair of a document, and the texts of its document."""
    first, second, pool = [], [], []
    sizes = np.bincount(choices.document)
    if int((sizes * (sizes - 1) // 2).sum()) > MOST_PAIRS:
        raise DesignError(
            f"documents have more than {MOST_PAIRS:,} pairs, and each is a mean over all thirds; look at fewer texts "
            "at a time, such as labels.where(document=[...])"
        )
    for d in range(len(sizes)):
        mine = np.flatnonzero(choices.document == d)
        for a, b in itertools.combinations(mine.tolist(), 2):
            first.append(a)
            second.append(b)
            pool.append(mine)
    return np.array(first), np.array(second), pool


def _comparisons(choices: Choices, first: Ints, second: Ints) -> list[int]:
    n = choices.texts.height
    seen = dict(zip((choices.pairs.first * n + choices.pairs.second).tolist(), choices.pairs.n.tolist(), strict=True))
    return [seen.get(k, 0) for k in (first * n + second).tolist()]


def _cross_validate(choices: Choices, settings: EmbeddingSettings) -> dict[int, float]:
    """Mean log likelihood of triplets that were left out, by dimensions."""
    rng = np.random.default_rng((settings.seed, 7))
    _, triplet = np.unique(choices.item, return_inverse=True)
    number = int(triplet.max()) + 1
    if number < 2 * settings.folds:
        raise DesignError(f"{counted(number, 'triplet')} cannot be cross-validated; give dimensions=2")
    fold = (rng.permutation(number) % settings.folds)[triplet]
    n, found = choices.texts.height, {}
    for d in TRIED:
        scores = []
        for k in range(settings.folds):
            kept, out = choices.where(fold != k), choices.where(fold == k)
            scores.append(Model.of(out.member, out.odd, n, d).score(_fit(kept, d, settings.seed)))
        found[d] = float(np.mean(scores))
    return found


def _resample(choices: Choices, dimensions: int, start: Floats, settings: EmbeddingSettings, of: object) -> Floats:
    """Similarities from triplets drawn anew, fitted from where the whole led to: (draws, pairs)."""
    rng = np.random.default_rng((settings.seed, 8))
    _, triplet = np.unique(choices.item, return_inverse=True)
    order = np.argsort(triplet, kind="stable")
    starts = np.searchsorted(triplet[order], np.arange(triplet.max() + 2))
    rows = []
    for _ in range(settings.n_resamples):
        drawn = rng.integers(0, len(starts) - 1, len(starts) - 1)
        which = np.concatenate([order[starts[t] : starts[t + 1]] for t in drawn.tolist()])
        rows.append(of(_fit(choices.where(which), dimensions, settings.seed, start)))  # type: ignore[operator]
    return np.array(rows) if rows else np.empty((0, 0))
