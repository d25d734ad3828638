"""Votes on pairs of systems: the one reduction that consistency, strength and ratings start from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks, in_memory
from assay.data.columns import natural
from assay.data.ratings import cluster_codes, digest_of_columns
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.options import IntervalSettings, Method, option
from assay.estimation.resampling import Units
from assay.estimation.result import Exclusion, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.similarity.registry import FOR_HELP

# -- Which outputs to put before raters ------------------------------------------------------------
# Where the outputs of two systems cannot be told apart, ratings of them say little. Ghosh, Srinivasan & Swayamdipta
# (2024, section 4) recommend to draw items with weights that grow with separability, or from each range of it, rather
# than the most separable alone, as the others still hold information.

Choose = Literal["weighted", "stratified", "top"]

STRATA = 4
"""Ranges of separability, of equal width, as in the paper's figure 6."""

ALPHA, BETA, THRESHOLD = 2.0, 6.0, 0.4
"""Of equation 6."""


def weight(separability: Floats, alpha: float = ALPHA, beta: float = BETA, threshold: float = THRESHOLD) -> Floats:
    """Equation 6: how much a vote on an item of this separability weighs; 1 at the threshold."""
    return np.asarray(alpha / (1 + np.exp(-beta * (separability - threshold))))


def strata(separability: Floats, n: int = STRATA) -> Ints:
    """In which of n ranges of equal width each separability lies, from 0."""
    low, high = float(separability.min()), float(separability.max())
    return np.asarray(np.clip(((separability - low) / max(high - low, 1e-12) * n).astype(int), 0, n - 1))


def chosen_items(items: pl.DataFrame, n: int | None, choose: Choose, seed: int = 0) -> pl.DataFrame:
    """The items to ask raters about, of every two systems.

    Parameters
    ----------
    items : polars.DataFrame
        ``item``, ``first``, ``second``, ``separability``: `assay.Separability.items`.
    n : int or None
        So many for every two systems; all where it is None or there are no more.
    choose : {"weighted", "stratified", "top"}
        Chances that grow with separability as the weights of equation 6 do; as many from each of four ranges of equal
        width; the most separable. What is drawn for an item does not depend on which others there are.
    seed : int

    Returns
    -------
    polars.DataFrame
        Rows of ``items``, in their order.
    """
    if n is None:
        return items
    keys = np.array([_uniform(seed, *row) for row in items.select("item", "first", "second").iter_rows()])
    delta = items["separability"].to_numpy()
    # The smallest of exponential times with these rates are a weighted draw without replacement.
    place = -np.log(keys) / weight(delta) if choose == "weighted" else -delta if choose == "top" else keys
    kept = []
    for rows in items.with_row_index("_row").partition_by("first", "second", maintain_order=True):
        mine = rows["_row"].to_numpy()
        order = mine[np.argsort(place[mine], kind="stable")]
        if choose == "stratified":
            order = _in_turn(order, strata(delta[mine])[np.argsort(place[mine], kind="stable")])
        kept += order[:n].tolist()
    return items[sorted(kept)]


def _in_turn(order: Ints, group: Ints) -> Ints:
    """The first of each group, then the second of each, …; a group that is used up leaves its turns to the others."""
    turn = np.array([(group[:i] == g).sum() for i, g in enumerate(group)])
    return np.asarray(order[np.lexsort((-group, turn))])


def pairs_of(outputs: pl.DataFrame, chosen: pl.DataFrame, n: int = 5, seed: int = 0) -> pl.DataFrame:
    """Pairs of outputs of the items chosen, no pair twice, each output as often as any other.

    Parameters
    ----------
    outputs : polars.DataFrame
        ``item``, ``annotator`` (the system), ``repeat``, ``label`` (the text).
    chosen : polars.DataFrame
        ``item``, ``first``, ``second``, ``separability``.
    n : int
        Pairs of each item and two systems: all of them where there are no more.

    Returns
    -------
    polars.DataFrame
        ``pair_of`` (the item), ``pair`` (1 to n), ``first``, ``second``, ``separability``, ``first_output``,
        ``second_output`` (which of the outputs), ``first_text``, ``second_text``.
    """
    texts: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for item, system, number, text in outputs.select("item", "annotator", "repeat", "label").iter_rows():
        texts.setdefault((item, system), []).append((number, text))
    rows: list[Mapping[str, Any]] = []
    for item, first, second, delta in chosen.select("item", "first", "second", "separability").iter_rows():
        sides = [sorted(texts[item, system]) for system in (first, second)]
        a, b = (
            sorted(side, key=lambda one, s=system: _uniform(seed, item, first, second, s, one[0]))  # type: ignore[misc]
            for side, system in zip(sides, (first, second), strict=True)
        )
        cells = [(j, (j + shift) % len(b)) for shift in range(len(b)) for j in range(len(a))]
        for number, (j, m) in enumerate(cells[:n], 1):
            rows.append(
                {"pair_of": item, "pair": number, "first": first, "second": second, "separability": delta,
                 "first_output": a[j][0], "second_output": b[m][0], "first_text": a[j][1], "second_text": b[m][1]}
            )  # fmt: skip
    if not rows:
        raise DesignError("no item has outputs of two systems, so there is no pair to compare")
    return pl.DataFrame(rows)


def _uniform(*parts: object) -> float:
    """A number between 0 and 1 that depends on what it is drawn for, and on nothing else."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64


# -- The options of the questions about preferences ------------------------------------------------

Who = Literal["humans", "judges", "annotators"]
Bins = Literal["width", "count"]
Tied = Literal["half", "davidson", "drop"]
Span = Literal["study", "none"]


@dataclass(frozen=True)
class PositionSettings(IntervalSettings):
    """Options of `assay.position_bias`."""

    method: Method = option("percentile", "How intervals are made.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")


@dataclass(frozen=True)
class VotesSettings(IntervalSettings):
    """Which votes count, and how intervals are made."""

    systems: tuple[str, ...] | None = option(None, "The systems to look at, separated by commas; all when not given.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")


@dataclass(frozen=True)
class SetSettings(VotesSettings):
    """Options of `assay.consistency` and `assay.preference_strength`."""

    by: str | None = option(None, "Column that tells sets apart: a number is cut into bins, such as separability.")
    bins: int = option(4, "Into how many bins a column of numbers is cut.", low=1)
    binning: Bins = option("width", "Bins of equal width, or of equally many sets.")
    who: tuple[Who, ...] = option(("humans", "judges"), "Whose votes: people together, each judge, each annotator.")
    choose: Choose | None = option(None, "How many ratings are saved where items are chosen so by separability.")
    share: float = option(0.5, "With choose: the share of the items that is rated.", above=0, below=1)


@dataclass(frozen=True)
class RatingSettings(VotesSettings):
    """What `assay.elo` and `assay.bradley_terry` share."""

    method: Method = option("percentile", "How intervals are made.")
    scale: float = option(400.0, "Points by which the odds grow by the factor base.", above=0)
    base: float = option(10.0, "Factor of the odds that scale points are worth.", above=1)
    start: float = option(1000.0, "Elo: every system's first rating. Bradley-Terry: the mean rating.")
    separability: str | None = option(None, "Column by which votes are weighted: eq. 6 with alpha, beta and threshold.")
    alpha: float = option(2.0, "The weight of a vote on an item that is very separable.", above=0)
    beta: float = option(6.0, "How fast weights grow with separability.", above=0)
    threshold: float = option(0.4, "Separability at which a vote weighs half of alpha.")


@dataclass(frozen=True)
class EloSettings(RatingSettings):
    """Options of `assay.elo`."""

    k: float = option(32.0, "How far one vote moves a rating.", above=0)
    order: str | None = option(None, "Column that says in which order votes came; random orders when not given.")
    n_orders: int = option(100, "Random orders of the votes; ratings are their mean.", low=1)


@dataclass(frozen=True)
class BradleyTerrySettings(RatingSettings):
    """Options of `assay.bradley_terry`."""

    ties: Tied = option("half", "A tie is half a vote for each, has a chance of its own, or counts for none.")
    prior: float = option(0.0, "Votes added to every pair, half for each: finite ratings for who never lost.", low=0)


@dataclass(frozen=True)
class SeparabilitySettings(VotesSettings):
    """Options of `assay.separability`."""

    similarity: Any = option("rouge-1", f"How alike texts are: {FOR_HELP}.")
    by: str | None = option(None, "Item column, such as a benchmark, for each of whose values means are given.")
    span: Span = option("study", "Put alignments on 0 to 1 by the least and largest of the study, or leave them.")


# -- Votes on pairs of systems ---------------------------------------------------------------------

PAIR = ("first", "second")
"""Columns that name the two systems, in the order that labels speak of: −1 is a vote for the first."""

PAIR_OF = "pair_of"
"""Where an item is one pair of outputs, as in a study of systems: the column that names what both are about. Votes on
one of its values are votes on one item."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes as arrays, one entry a vote, sorted by item, annotator and repeat.

    Attributes
    ----------
    table : polars.DataFrame
        ``item``, ``annotator``, ``kind``, ``first``, ``second``, ``label`` (−1, 0, 1), the columns asked for.
    systems : tuple of str
        In natural order.
    first, second : (votes,) int
        Positions in ``systems``.
    item : (votes,) int
        From 0, in the order of ``items``.
    n_items : int
    clusters : (items,) int or None
    data : str
        Fingerprint of the labels and of all columns that were used.
    exclusions : tuple of Exclusion
    named : mapping
        Under which name ``table`` keeps each column asked for.
    """

    table: pl.DataFrame
    systems: tuple[str, ...]
    first: Ints
    second: Ints
    item: Ints
    n_items: int
    clusters: Ints | None
    data: str
    exclusions: tuple[Exclusion, ...]
    named: Mapping[str, str]

    @classmethod
    def of(cls, labels: Annotations | Chunks, settings: VotesSettings, question: str, *columns: str | None) -> Votes:
        """The votes of a table.

        Raises
        ------
        DesignError
            For labels that are no votes, or on several criteria.
        DataError
            For a vote without a system, or on a system against itself.
        """
        labels = in_memory(labels, question)
        _refuse_what_are_no_votes(labels, question)
        named = {c: labels.column_name(c) for c in columns if c is not None}
        whole = (PAIR_OF,) if PAIR_OF in _columns(labels) else ()
        wanted = dict.fromkeys((*PAIR, *whole, "kind", *named.values()))
        more = {c: labels.column(c) for c in wanted if c not in ("item", "annotator", "label")}
        repeat = ["repeat"] if "repeat" in labels.labels.columns else []
        conditions = [c for c in labels.conditions if c in labels.labels.columns and c not in more]
        repeat = [c for c in repeat if c not in more]
        table = labels.labels.select("item", "annotator", "label", *repeat, *conditions).with_columns(**more)
        _refuse_strange_pairs(table)
        codes = None if settings.clusters is None else pl.Series(cluster_codes(labels, settings.clusters))
        cluster_of = None if codes is None else dict(zip(labels.items["item"], codes, strict=True))
        if whole:
            table, cluster_of = _by_pair(table, cluster_of, settings.clusters)
        table = table.with_columns(pl.col(c).cast(pl.String) for c in PAIR)
        known = natural(set(table["first"].unique()) | set(table["second"].unique()))
        systems: tuple[str, ...] = known
        exclusions: tuple[Exclusion, ...] = ()
        if settings.systems is not None:
            table, systems, exclusions = _of_systems(table, known, settings.systems)
        table = table.sort("item", "annotator", *repeat, *conditions, *PAIR, "label")
        items = table["item"].unique(maintain_order=True)  # sorted, as the table is
        place = {s: i for i, s in enumerate(systems)}
        clusters = None
        if cluster_of is not None:
            clusters = items.replace_strict(list(cluster_of), list(cluster_of.values())).to_numpy().astype(np.int64)
        used = (*PAIR, *whole, *named.values(), settings.clusters, *repeat)
        data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *dict.fromkeys(used)))
        first, second = (
            table[c].replace_strict(list(place), list(place.values())).to_numpy().astype(np.int64) for c in PAIR
        )
        item = table["item"].rank("dense").to_numpy().astype(np.int64) - 1
        return cls(table, systems, first, second, item, len(items), clusters, data, exclusions, named)

    def __len__(self) -> int:
        return self.table.height

    def column(self, name: str) -> pl.Series:
        """A column that was asked for, by the name that the user gave."""
        return self.table[self.named[name]]

    @property
    def label(self) -> Floats:
        """−1 for the first, 0 for a tie, 1 for the second."""
        return self.table["label"].cast(pl.Float64).to_numpy()

    @property
    def facts(self) -> dict[str, object]:
        """What the question was asked of."""
        people, judges = (
            self.table.filter(pl.col("kind") == kind)["annotator"].n_unique() for kind in ("human", "judge")
        )
        return {"items": self.n_items, "votes": len(self), "systems": len(self.systems), "humans": people,
                "judges": judges}  # fmt: skip

    def units(self, width: int) -> Units:
        """What is resampled: items, clusters, or blocks of either."""
        return Units.of(self.n_items, self.clusters, width=width)


def listed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options whose lists are tuples; a name alone stands for a list of one."""
    alone = {k: (v,) for k, v in options.items() if k in ("systems", "who") and isinstance(v, str)}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()} | alone


def _columns(labels: Annotations) -> set[str]:
    """Every column of the table, under its own name and under what users call it."""
    return {c for frame in (labels.labels, labels.items, labels.annotators) for c in frame.columns} | set(labels.names)


def _by_pair(
    table: pl.DataFrame, cluster_of: dict[str, int] | None, clusters: str | None
) -> tuple[pl.DataFrame, dict[str, int] | None]:
    """Votes by what their pairs are of, and the cluster of each."""
    if table[PAIR_OF].null_count():
        row = table.filter(pl.col(PAIR_OF).is_null()).row(0, named=True)
        raise DataError(
            f"the item '{row['item']}' does not say in '{PAIR_OF}' what its pair of outputs is of; name it in "
            "all rows, or leave that column out"
        )
    found: dict[str, int] | None = None
    if cluster_of is not None:
        found = {}
        for item, of in table.select("item", PAIR_OF).unique(maintain_order=True).iter_rows():
            if found.setdefault(str(of), cluster_of[item]) != cluster_of[item]:
                raise DesignError(f"pairs of '{of}' lie in several clusters of clusters='{clusters}'")
    return table.with_columns(item=pl.col(PAIR_OF).cast(pl.String)), found


def has_votes(labels: Annotations) -> bool:
    """Whether the table holds votes on pairs of named systems, about one criterion."""
    known = _columns(labels)
    return len(labels.criteria) < 2 and labels.scale.kind == "preference" and set(PAIR) <= known


def has_separability(labels: Annotations) -> bool:
    """Whether every vote is on an item of a known separability, as those of a study with systems are."""
    if "separability" not in _columns(labels):
        return False
    column = labels.column("separability")
    return column.dtype.is_numeric() and not column.null_count()


def _refuse_what_are_no_votes(labels: Annotations, question: str) -> None:
    if len(labels.criteria) > 1:
        raise DesignError(
            f"{question} is asked of one criterion, and the table has {listing(labels.criteria)}; choose one with "
            f"labels.where(criterion='{labels.criteria[0]}')"
        )
    if labels.scale.kind != "preference":
        raise DesignError(
            f"{question} needs votes: labels first, second or tie (−1, 1 or 0), and these are "
            f"{labels.scale.describe()}; read them with scale='preference'"
        )
    absent = [c for c in PAIR if c not in _columns(labels)]
    if absent:
        raise DesignError(
            f"votes need columns 'first' and 'second' that name the two systems; the table has no '{absent[0]}' "
            "(tables with model_a, model_b and winner are read as they are)"
        )


def _refuse_strange_pairs(table: pl.DataFrame) -> None:
    for where, words in (
        (pl.col("first").is_null() | pl.col("second").is_null(), "does not say which two systems it is about"),
        (pl.col("first") == pl.col("second"), "sets a system against itself"),
    ):
        strange = table.filter(where)
        if strange.height:
            row = strange.row(0, named=True)
            named = f" ({row['first']})" if row["first"] is not None and row["first"] == row["second"] else ""
            more = f"; so do {counted(strange.height - 1, 'other vote')}" if strange.height > 1 else ""
            raise DataError(f"the vote of '{row['annotator']}' on item '{row['item']}' {words}{named}{more}")


def _of_systems(
    table: pl.DataFrame, known: tuple[str, ...], wanted: tuple[str, ...]
) -> tuple[pl.DataFrame, tuple[str, ...], tuple[Exclusion, ...]]:
    """Votes between the systems wanted; the others are counted."""
    for name in wanted:
        if name not in known:
            raise DataError(unknown("system", name, known, "the votes"))
    if len(set(wanted)) < 2:
        raise DesignError("systems=... needs two systems at least")
    kept = table.filter(pl.col("first").is_in(wanted) & pl.col("second").is_in(wanted))
    if not kept.height:
        raise DesignError(f"no vote is between two of {listing(wanted)}")
    out = table.height - kept.height
    gone = (Exclusion("vote", out, "on a system that systems=... does not name"),) if out else ()
    return kept, natural(set(wanted)), gone
