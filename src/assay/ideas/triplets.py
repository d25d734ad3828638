"""Similarity of every pair of texts from odd-one-out choices.

Nam et al. (2025), section 4.1: of all choices that concern both texts,

    sim(A, B) = choices in which neither A nor B is the odd one / choices that concern both    (equation 1)

so that the mean over all pairs is always 1/3. For pairs with few choices, places in a space fitted to all choices
rank them better.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimation.intervals import Estimate, Estimates, wilson, wilson_estimate
from assay.estimation.options import LEAST_RESAMPLES, IntervalSettings, Method, question
from assay.estimation.resampling import estimate_replicates
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.ideas import words
from assay.ideas.choices import Choices, EmbeddingSettings, TripletSettings
from assay.reporting import pictures
from assay.reporting.tables import estimated
from assay.statistics.comparisons.odd_one_out import CHANCE, KEPT, Model, predicted_shares, within_triplet_icc

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TEXTS = 40
"""Texts of a document whose similarities are drawn as a table."""


@dataclass(frozen=True, eq=False)
class TripletSimilarity(Result):
    """Similarity of every two texts by odd-one-out choices.

    Attributes
    ----------
    pairs : polars.DataFrame
        One row a pair that was compared: ``document``, ``first``, ``second``, ``estimate`` (0 to 1; 1/3 is the mean of
        all pairs), ``low``, ``high``, ``n`` (choices that concern both), ``kept`` (those that keep both together),
        ``enough`` (whether ``n`` reaches the floor).
    texts : polars.DataFrame
        One row a text, the least similar to the others first: ``document``, ``text``, ``similarity`` (mean of its
        pairs), ``estimate`` (share of its choices in which it is the odd one out; a third on average),
        ``low``, ``high`` (Wilson, with the number of its triplets), ``n`` (choices that concern it).
    n_unseen : int
        Pairs of texts of one document that were never compared.
    dependence : float
        Intraclass correlation, 0 to 1, of choices from one triplet among choices about one pair; NaN if no triplet has
        two choices. Intervals allow for it.
    run : Run
    """

    symbol: ClassVar[str] = "similarity"
    counted: ClassVar[str] = "comparisons"

    pairs: pl.DataFrame = field(metadata={"json": False})
    texts: pl.DataFrame
    n_unseen: int
    dependence: float
    run: Run
    independent: Floats = field(repr=False, metadata={"json": False})
    """Effective number of independent choices about each pair: (pairs,)."""

    @property
    def table(self) -> pl.DataFrame:
        """The pairs."""
        return self.pairs

    def row_estimates(self) -> Sequence[Estimate]:
        """The similarity of each pair."""
        columns = (self.pairs[c].to_list() for c in ("estimate", "low", "high"))
        return [wilson_estimate(*row) for row in zip(*columns, self.independent.tolist(), strict=True)]

    @property
    def n_under_floor(self) -> int:
        """Pairs that were compared, but less often than the floor."""
        return int((~self.pairs["enough"]).sum())

    def of(self, first: str, second: str, document: str | None = None) -> dict[str, Any]:
        """The row of one pair, in either order."""
        pairs = self.pairs if document is None else self.pairs.filter(pl.col("document") == document)
        found = pairs.filter(
            ((pl.col("first") == first) & (pl.col("second") == second))
            | ((pl.col("first") == second) & (pl.col("second") == first))
        )
        if not found.height:
            raise DataError(f"'{first}' and '{second}' were never compared")
        return found.row(0, named=True)

    def matrix(self, document: str | None = None) -> tuple[tuple[str, ...], Floats]:
        """Names of a document's texts, and their similarities (texts, texts): 1 on the diagonal, NaN where not seen."""
        documents = self.pairs["document"].unique(maintain_order=True).to_list()
        if document is None and len(documents) > 1:
            raise DesignError(f"there are {len(documents)} documents; name one, such as document='{documents[0]}'")
        if document is not None and document not in documents:
            raise DataError(unknown("document", document, documents, "the choices"))
        mine = self.pairs if document is None else self.pairs.filter(pl.col("document") == document)
        names = tuple(dict.fromkeys([*mine["first"].to_list(), *mine["second"].to_list()]))
        place = {name: i for i, name in enumerate(names)}
        found = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(found, 1.0)
        for a, b, value in mine.select("first", "second", "estimate").iter_rows():
            found[place[a], place[b]] = found[place[b], place[a]] = value
        return names, found

    def summary(self) -> str:
        """The most and the least similar pair, and the numbers of comparisons."""
        best = self.pairs.filter("enough")
        best = (best if best.height else self.pairs).sort("estimate", "n", descending=True)
        top, last = best.row(0, named=True), best.row(-1, named=True)
        floor = self.run.settings.floor  # type: ignore[attr-defined]
        lines = words.similarity_lines(
            _pair(top), _pair(last), self.pairs["n"], self.n_under_floor, floor, self.n_unseen, self.dependence
        )
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None, document: str | None = None) -> Axes:
        """Similarities of a document's texts as a shaded table, by default of the first document."""
        if document is None:
            document = self.pairs["document"][0]
        names, alike = self.matrix(document)
        names, alike = names[:MOST_TEXTS], alike[:MOST_TEXTS, :MOST_TEXTS]
        size = 1.6 + 0.32 * len(names)
        ax = pictures.axes(ax, width=size + 0.8, height=size)
        shade = np.where(np.eye(len(names), dtype=bool), np.nan, alike)
        text = [["" if not np.isfinite(v) else f"{100 * v:.0f}" for v in row] for row in shade]
        pictures.shaded(ax, shade, text)
        short = [name if len(name) < 22 else name[:20] + "…" for name in names]
        ax.set_yticks(np.arange(len(names))[::-1] + 0.5, short)
        ax.set_xticks(np.arange(len(names)) + 0.5, short, rotation=90)
        ax.set_xlabel("similarity in percent" + ("" if document is None else f", {document}"))
        return ax


def _pair(row: dict[str, Any]) -> str:
    where = "" if row["document"] is None else f" ({row['document']})"
    names = (name if len(name) <= 40 else name[:38] + "…" for name in (row["first"], row["second"]))
    return f"{' and '.join(names)}{where}, {estimated(row['estimate'], row['low'], row['high'])} of {row['n']}"


@question(TripletSettings)
def triplet_similarity(labels: Annotations | Chunks, settings: TripletSettings) -> TripletSimilarity:
    """Estimate the similarity of every pair of texts from odd-one-out choices (equation 1).

    Parameters
    ----------
    labels : Annotations
        Labels A, B or C on the scale ``odd-one-out``: an item is a triplet. Every answer counts, repeats too.

    Returns
    -------
    TripletSimilarity

    Raises
    ------
    DesignError
        For labels that are not odd-one-out choices, missing columns, or no annotators to include.
    DataError
        For a triplet that does not name three different texts.

    Examples
    --------
    >>> import assay, polars as pl
    >>> rows = ["1abcC", "2abdC", "3acdA", "4bcdA"]
    >>> columns = ["item", "first", "second", "third", "label"]
    >>> frame = pl.DataFrame([list(row) for row in rows], schema=columns, orient="row")
    >>> labels = assay.read(frame.with_columns(annotator=pl.lit("ann")), scale="odd-one-out", humans=["ann"])
    >>> found = assay.triplet_similarity(labels)
    >>> found.table.filter(pl.col("estimate") > 0).select("first", "second", "estimate", "n").rows()
    [('a', 'b', 1.0, 2), ('c', 'd', 1.0, 2)]
    >>> found.of("b", "a")["enough"]
    False

    The expert keeps a with b, and c with d; two choices about each pair are fewer than three, so none is well known.
    """
    floor, confidence = settings.floor, settings.confidence
    choices = Choices.of(labels, settings, "triplet_similarity").chosen_by(settings.annotators)
    pairs, alike, independent = similarities(choices, floor, confidence)
    unseen = unseen_pairs(choices)
    how = f"{100 * confidence:g}% Wilson intervals" + (
        "" if np.isnan(alike) else ", with the effective number of independent choices"
    )
    run = Run(
        "triplet-similarity", settings, choices.data, choices.facts, how, choices.exclusions,
        cautions=_sparse_caution(pairs, floor, unseen),
    )  # fmt: skip
    return TripletSimilarity(pairs, _outlying_texts(choices, confidence), unseen, alike, run, independent)


def similarities(choices: Choices, floor: int, confidence: float) -> tuple[pl.DataFrame, float, Floats]:
    """Equation 1 for each pair with its interval, the dependence of choices, and their effective number."""
    pairs = choices.pairs
    n, alike = pairs.n.astype(float), float("nan")
    if choices.n_triplets < len(choices):
        kept = np.zeros((len(choices), 3))
        kept[np.arange(len(choices)), KEPT[choices.odd]] = 1.0
        position = pairs.position(choices.member, choices.texts.height)
        alike, n = within_triplet_icc(position, kept, len(pairs), choices.item)
    low, high = _ends(pairs.kept, pairs.n, confidence) if np.isnan(alike) else wilson(pairs.share, n, confidence)
    found = choices.named_pairs(pairs.first, pairs.second).with_columns(
        estimate=pl.Series(pairs.share), low=pl.Series(low), high=pl.Series(high), n=pl.Series(pairs.n),
        kept=pl.Series(pairs.kept), enough=pl.Series(pairs.n >= floor),
    )  # fmt: skip
    return found, alike, n


def _outlying_texts(choices: Choices, confidence: float) -> pl.DataFrame:
    """Mean similarity of each text that was compared, and how often it is the odd one out."""
    size, pairs = choices.texts.height, choices.pairs
    position = np.arange(len(choices))
    odd = np.bincount(choices.member[position, choices.odd], minlength=size)
    n = np.bincount(choices.member.ravel(), minlength=size)
    _, first = np.unique(choices.item, return_index=True)
    triplets = np.bincount(choices.member[first].ravel(), minlength=size)
    ends = np.concatenate([pairs.first, pairs.second])
    of_pairs = np.bincount(ends, minlength=size)
    total = np.bincount(ends, weights=np.concatenate([pairs.share, pairs.share]), minlength=size)
    seen = np.flatnonzero(n)
    low, high = wilson(odd[seen] / n[seen], triplets[seen].astype(float), confidence)
    found = choices.texts[seen].select("document", "text").with_columns(
        similarity=pl.Series(total[seen] / of_pairs[seen]), estimate=pl.Series(odd[seen] / n[seen]),
        low=pl.Series(low), high=pl.Series(high), n=pl.Series(n[seen]),
    )  # fmt: skip
    return found.sort("similarity", maintain_order=True)


def _ends(kept: Ints, n: Ints, confidence: float) -> tuple[Floats, Floats]:
    """Wilson's interval of each pair, computed once for each count of which there are several."""
    most = int(n.max())
    if (most + 1) ** 2 > len(n):
        return wilson(kept / n, n.astype(float), confidence)
    share = np.arange(most + 1) / np.maximum(np.arange(most + 1), 1)[:, None]
    low, high = wilson(share, np.maximum(np.arange(most + 1.0), 1.0)[:, None], confidence)
    return low[n, kept], high[n, kept]


def unseen_pairs(choices: Choices) -> int:
    """Pairs of texts of one document that no choice concerns."""
    sizes = np.bincount(choices.document)
    return int((sizes * (sizes - 1) // 2).sum()) - len(choices.pairs)


def _sparse_caution(pairs: pl.DataFrame, floor: int, unseen: int) -> tuple[str, ...]:
    few = pairs.height - int(pairs["enough"].sum())
    if not few and not unseen:
        return ()
    words = [f"{counted(few, 'pair')} compared fewer than {floor} times"] if few else []
    words += [f"{counted(unseen, 'pair')} never compared"] if unseen else []
    return (
        f"{' and '.join(words)}: collect more triplets (assay.sample_triplets draws the least compared pairs), "
        "or fit assay.triplet_embedding, which pools information over pairs.",
    )


# -- few choices: places of texts in a space, fitted to odd-one-out choices -----------------------------------

TRIED = (1, 2, 3, 4, 6)
"""Dimensions that cross-validation chooses among: beyond, few choices say nothing of more."""

MOST_PAIRS = 20_000
"""Largest number of pairs with similarities: each is a mean over all third texts, in every resample."""

LOG_CHANCE = float(np.log(CHANCE))
"""Mean log likelihood of who does not look."""


@dataclass(frozen=True, eq=False)
class TripletEmbedding(Result):
    """Similarities of all pairs of each document, those never compared too, by a model of the choices.

    Attributes
    ----------
    pairs : polars.DataFrame
        ``document``, ``first``, ``second``, ``estimate`` (equation 1 with infinitely many choices, by the model),
        ``low``, ``high``, ``n`` (choices about both; can be 0), ``reason``.
    places : polars.DataFrame
        ``document``, ``text``, and ``x1``, ``x2`` …: similar texts are close. Documents have separate spaces.
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
        """The size of the fit, its prediction of choices, and pairs without comparisons."""
        unseen = int((self.pairs["n"] == 0).sum())
        mine = self.folds.filter(pl.col("dimensions") == self.dimensions)["estimate"] if self.folds.height else [None]
        lines = words.embedding_lines(
            self.pairs.height, self.run.facts["choices"], self.dimensions, unseen, mine[0], LOG_CHANCE
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
    """Estimate similarities from few comparisons, with places in a space fitted to odd-one-out choices.

    A choice keeps a pair together with a probability proportional to exp(−squared distance): Luce's rule among the
    three pairs, Bradley and Terry's for two. If every pair has at least ten comparisons, `assay.triplet_similarity`
    counts and assumes nothing; with one or two, the model ranks pairs better, and gives those that were never compared.

    Parameters
    ----------
    labels : Annotations
        Odd ones out, as in `assay.triplet_similarity`.

    Returns
    -------
    TripletEmbedding

    Examples
    --------
    >>> import assay, polars as pl
    >>> rows = ["1abcC", "2abdC", "3acdA", "4bcdA"]
    >>> columns = ["item", "first", "second", "third", "label"]
    >>> frame = pl.DataFrame([list(row) for row in rows], schema=columns, orient="row")
    >>> labels = assay.read(frame.with_columns(annotator=pl.lit("ann")), scale="odd-one-out", humans=["ann"])
    >>> found = assay.triplet_embedding(labels, dimensions=1, n_resamples=20)
    >>> closest = found.table.sort("estimate", descending=True).head(2)
    >>> sorted(closest.select("first", "second").rows())
    [('a', 'b'), ('c', 'd')]
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
    found = estimate_replicates(value, drawn, how, n_items=len(choices), n_units=choices.n_triplets, unit="triplets")
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
    """Similarities from resampled triplets, fitted from the whole fit: (draws, pairs)."""
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


# -- similarity by authors, such as people with people and people with models ---------------------------------
#
# Pairs share texts, so that intervals leave out one text at a time (Arvesen 1969): with n texts by an author and d the
# mean without each of them,
#
#     variance = Σ over authors (n − 1) / n · Σ (d − mean d)²

MOST_AUTHORS = 6
"""Authors whose pairs are compared: beyond, there are over 21 means of few pairs, and `same author` is the measure."""

LEAST_TEXTS = 3
"""Texts by an author without which there is no interval."""

_BY_AUTHORS = {
    "authors": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
    "reason": pl.String,
}  # fmt: skip


def similarity_by_authors(
    first: Ints, second: Ints, share: Floats, authors: Sequence[str], confidence: float
) -> pl.DataFrame:
    """Mean similarity of the pairs of every two authors, then differences of pairs by one author and by two.

    Parameters
    ----------
    first, second : (pairs,) int
        The texts of each pair.
    share : (pairs,) float
        Equation 1, 0 to 1.
    authors : list of str
        Of each text.
    confidence : float

    Returns
    -------
    polars.DataFrame
        ``authors`` (``people and models``, or ``people and people − people and models``), ``estimate``, ``low``,
        ``high`` (of a mean between 0 and 1), ``n`` (pairs; of a difference those of both), ``reason``. Empty for one
        author and for more than six.

    Examples
    --------
    >>> first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> found = similarity_by_authors(first, second, np.array([1.0, 0.0, 0.5]), ["a", "a", "b"], 0.95)
    >>> found.select("authors", "estimate", "n").rows()
    [('a and a', 1.0, 1), ('a and b', 0.25, 2), ('a and a − a and b', 0.75, 3)]
    """
    names = natural(set(authors))
    if not 2 <= len(names) <= MOST_AUTHORS:
        return pl.DataFrame(schema=_BY_AUTHORS)
    code = np.array([names.index(one) for one in authors])
    ends = np.sort(np.stack([code[first], code[second]]), axis=0)
    means: dict[tuple[int, int], tuple[Floats, int]] = {}
    for pair in itertools.combinations_with_replacement(range(len(names)), 2):
        mine = (ends[0] == pair[0]) & (ends[1] == pair[1])
        if mine.any():
            means[pair] = _without_each(first[mine], second[mine], share[mine], len(code)), int(mine.sum())
    used = np.unique(np.concatenate([first, second]))
    about = (code, used, names, confidence)
    rows = [_row_of_authors(_both(pair, names), pair, value, n, *about, 0.0) for pair, (value, n) in means.items()]
    for (a, b), (value, n) in means.items():
        for one in (a, b) if a != b else ():
            if (one, one) in means:
                own, more = means[one, one]
                line = f"{_both((one, one), names)} − {_both((a, b), names)}"
                rows.append(_row_of_authors(line, (a, b), own - value, more + n, *about, -1.0))
    return pl.DataFrame(rows, schema=_BY_AUTHORS, orient="row")


def _both(pair: tuple[int, int], names: Sequence[str]) -> str:
    return " and ".join(names[one] for one in pair)


def _without_each(first: Ints, second: Ints, share: Floats, n_texts: int) -> Floats:
    """The mean of all pairs, then without each text: (1 + texts,); NaN if no pair is left."""
    sums = np.bincount(first, share, n_texts) + np.bincount(second, share, n_texts)
    counts = np.bincount(first, minlength=n_texts) + np.bincount(second, minlength=n_texts)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (share.sum() - sums) / (len(share) - counts)
    return np.concatenate([[share.mean()], without])


def _row_of_authors(
    line: str, pair: tuple[int, int], value: Floats, n: int, code: Ints, used: Ints, names: Sequence[str],
    confidence: float, lowest: float,
) -> tuple[str, float, float | None, float | None, int, str | None]:  # fmt: skip
    """A mean or a difference with its interval, which ends at the lowest possible value and at 1."""
    from scipy.special import stdtrit

    variance, least = 0.0, len(used)
    for author in set(pair):
        mine = used[code[used] == author]
        if len(mine) < LEAST_TEXTS:
            why = f"{counted(len(mine), 'text')} by {names[author]}; an interval requires {LEAST_TEXTS}"
            return line, float(value[0]), None, None, n, why
        without = value[1 + mine]
        variance += (len(mine) - 1) / len(mine) * float(((without - without.mean()) ** 2).sum())
        least = min(least, len(mine))
    if not np.isfinite(variance) or variance == 0:
        return line, float(value[0]), None, None, n, "the pairs are of too few texts, or have the same value"
    half = float(stdtrit(least - 1, (1 + confidence) / 2)) * variance**0.5
    return line, float(value[0]), max(float(value[0]) - half, lowest), min(float(value[0]) + half, 1.0), n, None
