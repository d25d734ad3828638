"""How alike are two texts? Choices of the odd one out of three, made into a similarity of every pair.

Nam et al. (2025), section 4.1: of all choices that concern both texts,

    sim(A, B) = choices in which neither A nor B is the odd one / choices that concern both    (equation 1)

so that the mean over all pairs is 1/3, whatever the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.errors import DataError, DesignError, counted, unknown
from assay.estimation.intervals import Estimate, wilson, wilson_estimate
from assay.estimation.options import question
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats, Ints
from assay.ideas.choices import Choices, TripletSettings
from assay.reporting import pictures
from assay.reporting.tables import estimated, said
from assay.statistics.odd_one_out import KEPT, alike_within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TEXTS = 40
"""Texts of a document whose similarities are drawn as a table."""


@dataclass(frozen=True, eq=False)
class TripletSimilarity(Result):
    """How alike every two texts are, as those who chose see it.

    Attributes
    ----------
    pairs : polars.DataFrame
        One row a pair that was compared: ``document``, ``first``, ``second``, ``estimate`` (0 to 1; 1/3 is the mean of
        all pairs), ``low``, ``high``, ``n`` (choices that concern both), ``kept`` (those that keep both together),
        ``enough`` (whether ``n`` reaches the floor).
    n_unseen : int
        Pairs of texts of one document that were never compared.
    alike : float
        How much more alike choices about one triplet are than choices about one pair (intraclass correlation, 0 to 1);
        NaN where no triplet was answered twice. Intervals are wider for it.
    run : Run
    """

    symbol: ClassVar[str] = "similarity"
    counted: ClassVar[str] = "comparisons"

    pairs: pl.DataFrame = field(metadata={"json": False})
    n_unseen: int
    alike: float
    run: Run
    independent: Floats = field(repr=False, metadata={"json": False})
    """Independent choices that those about each pair are worth: (pairs,)."""

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
        """The row of one pair, whichever text is named first."""
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
        """The most and the least alike pair, and how well pairs are known."""
        many: Any = self.pairs["n"]
        best = self.pairs.filter("enough")
        best = (best if best.height else self.pairs).sort("estimate", "n", descending=True)
        top, last = best.row(0, named=True), best.row(-1, named=True)
        floor = self.run.settings.floor  # type: ignore[attr-defined]
        lines = [
            f"Most alike: {_pair(top)}. Least alike: {_pair(last)}. The mean of all pairs is 1/3.",
            f"{counted(self.pairs.height, 'pair')} compared {many.min()} to {many.max()} times (median "
            f"{many.median():g}); {counted(self.n_under_floor, 'pair')} fewer than {floor} times.",
        ]
        if self.n_unseen:
            lines.append(f"{counted(self.n_unseen, 'pair')} of texts of one document never compared.")
        if np.isfinite(self.alike):
            lines.append(
                f"Choices about one triplet are more alike than about one pair by an intraclass correlation of "
                f"{said(self.alike)}, which the intervals allow for."
            )
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None, document: str | None = None) -> Axes:
        """Similarities of a document's texts as a shaded table, the first document's where there are several."""
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
    """How alike are two texts to those who chose the odd one out of three? Equation 1.

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
        For labels that are no odd ones out, columns that cannot be found, nobody whose choices count.
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
        "" if np.isnan(alike) else ", of as many independent choices as those about one triplet are worth"
    )
    run = Run(
        "triplet-similarity", settings, choices.data, choices.facts, how, choices.exclusions,
        cautions=_few(pairs, floor, unseen),
    )  # fmt: skip
    return TripletSimilarity(pairs, unseen, alike, run, independent)


def similarities(choices: Choices, floor: int, confidence: float) -> tuple[pl.DataFrame, float, Floats]:
    """Equation 1 for each pair with its interval, how alike choices about one triplet are, what choices are worth."""
    pairs = choices.pairs
    n, alike = pairs.n.astype(float), float("nan")
    if choices.n_triplets < len(choices):
        kept = np.zeros((len(choices), 3))
        kept[np.arange(len(choices)), KEPT[choices.odd]] = 1.0
        position = pairs.position(choices.member, choices.texts.height)
        alike, n = alike_within(position, kept, len(pairs), choices.item)
    low, high = _ends(pairs.kept, pairs.n, confidence) if np.isnan(alike) else wilson(pairs.share, n, confidence)
    found = choices.named_pairs(pairs.first, pairs.second).with_columns(
        estimate=pl.Series(pairs.share), low=pl.Series(low), high=pl.Series(high), n=pl.Series(pairs.n),
        kept=pl.Series(pairs.kept), enough=pl.Series(pairs.n >= floor),
    )  # fmt: skip
    return found, alike, n


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


def _few(pairs: pl.DataFrame, floor: int, unseen: int) -> tuple[str, ...]:
    few = pairs.height - int(pairs["enough"].sum())
    if not few and not unseen:
        return ()
    words = [f"{counted(few, 'pair')} compared fewer than {floor} times"] if few else []
    words += [f"{counted(unseen, 'pair')} never compared"] if unseen else []
    return (
        f"{' and '.join(words)}: ask for more triplets (assay.sample_triplets draws what was seen least), or "
        "fit assay.triplet_embedding, which lends each pair what others tell.",
    )
