"""Votes on pairs of systems: options of the analyses, votes as arrays, and the choice of items for new votes.

A vote says which of two systems gave the better output, or that they tie. Consistency, preference strength and ratings
all reduce a table of votes here. Votes between outputs that are hard to separate carry little information, so the last
section chooses items, and pairs of outputs, by separability before votes are collected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.data.names import Coded, cell_numbers, factorize, sort_cells
from assay.data.ratings import cluster_codes
from assay.data.scales import Preference
from assay.data.structure.sides import PAIR, PAIR_OF
from assay.data.structure.vote_sides import as_shown
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.options import IntervalSettings, Method, Settings, option, seed_option
from assay.estimation.resampling import Units
from assay.estimation.result import Exclusion, fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints
from assay.similarity.registry import FOR_HELP

Choose = Literal["weighted", "stratified", "top"]
Who = Literal["humans", "judges", "annotators"]
Bins = Literal["width", "count"]
RatingModel = Literal["bradley-terry", "elo"]
SetMeasure = Literal["consistency", "strength"]
Tied = Literal["half", "davidson", "drop"]
Grades = Literal["alike", "shares"]
Span = Literal["study", "none"]
Aim = Literal["information", "width"]

ALPHA, BETA, THRESHOLD = 2.0, 6.0, 0.4
"""Parameters of equation 6 (Ghosh, Srinivasan & Swayamdipta 2024): the paper's values."""

# -- Options ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class VotesSettings(IntervalSettings):
    """Options of all analyses of votes or outputs; items are resampled with all their votes."""

    systems: Sequence[str] | None = option(None, "Systems to analyse, separated by commas (default: all).")
    clusters: str | None = option(
        None,
        "Column that groups dependent items, such as the document; annotator: items of one user.",
        details="``annotator`` is for votes of many users, each on separate items.",
    )

    def __post_init__(self) -> None:
        for name in ("systems", "who", "covariates"):
            if isinstance(value := getattr(self, name, None), str):
                object.__setattr__(self, name, (value,))
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class SetSettings(VotesSettings):
    """Options of `assay.consistency`."""

    measure: SetMeasure = option(
        "consistency",
        "Measure: consistency of a rating set, or mean preference strength.",
        details="Consistency is equation 4, strength is equation 7.",
        always=True,
        first=True,
    )
    by: str | None = option(
        None,
        "Analyse sets by this column; a numeric column, such as separability, is binned.",
        details="A column of the items or of the votes.",
        first=True,
    )
    bins: int = option(4, "Number of bins of a numeric column.", low=1)
    binning: Bins = option(
        "width",
        "Bins of equal width, or with equal numbers of sets.",
        details="Equal width, between the smallest and the largest value, is the paper's.",
    )
    who: Sequence[Who] = option(
        ("humans", "judges"), "Raters: all humans together, each judge, each annotator.", first=True
    )
    choose: Choose | None = option(
        None,
        "Report the saving if items are chosen by separability in this way.",
        details="The saving is the share of ratings not needed for the same number of consistent votes. Items are "
        "chosen by the column ``by``, as in `Separability.pairs`.",
        first=True,
    )
    share: float = option(0.5, "With choose: share of the items that are rated.", above=0, below=1)


@dataclass(frozen=True, kw_only=True)
class RatingSettings(VotesSettings):
    """Options of `assay.ratings`."""

    renamed: ClassVar[Mapping[str, str]] = {"scale": "rating_scale=...", "threshold": "separability_threshold=..."}
    of_model: ClassVar[Mapping[RatingModel, tuple[str, ...]]] = {
        "bradley-terry": ("ties", "prior", "covariates"),
        "elo": ("k", "order", "n_orders"),
    }
    """The options of one model only."""

    model: RatingModel = option(
        "bradley-terry",
        "Rating model: Bradley-Terry ratings, or Elo ratings.",
        details="Elo ratings depend on the order of the votes; weighted by separability they are SEP-Elo.",
        always=True,
        first=True,
    )
    who: Sequence[str] | None = option(
        None,
        "One leaderboard each for: humans, judges (each), annotators (each), a name; or together (all raters).",
        details="Default: one leaderboard for the humans and one for each judge, never one of both together. If the "
        "votes contain both, each judge's leaderboard is compared with the humans'.",
        first=True,
    )
    by: str | None = option(
        None, "Column, such as a category; adds a leaderboard for each of its values.",
        details="A column of the items or of the votes. p-values are Holm-adjusted over all leaderboards.",
        first=True,
    )  # fmt: skip
    method: Method = option("percentile", "Interval method.")
    rating_scale: float = option(
        400.0,
        "Points by which the odds grow by the factor base.",
        above=0,
        key="scale",
        details="The odds that a system is preferred grow by the factor ``base`` for this many points of lead.",
    )
    base: float = option(10.0, "Factor of the odds for rating_scale points.", above=1)
    start: float = option(1000.0, "Elo: initial rating of every system. Bradley-Terry: mean rating.")
    grades: Grades = option(
        "alike",
        "Count graded votes (much better) as full votes, or slighter ones partly as ties.",
        details="With ``shares`` a vote of grade g of G counts as g/G of a vote and 1 − g/G of a tie.",
        first=True,
    )
    separability: str | None = option(
        None,
        "Column of separability that weights votes: eq. 6 with alpha, beta and separability_threshold.",
        details="A vote on an item of separability δ has weight α / (1 + exp(−β (δ − T))).",
        first=True,
    )
    alpha: float = option(ALPHA, "Largest weight of a vote, on an item that is very separable.", above=0)
    beta: float = option(BETA, "Rate at which weights grow with separability.", above=0)
    separability_threshold: float = option(
        THRESHOLD, "Separability at which the weight of a vote is half of alpha.", key="threshold"
    )
    ties: Tied = option(
        "half",
        "Bradley-Terry: count a tie as half a vote for each, model its probability, or drop it.",
        details="``davidson`` is Davidson's (1970) model; ratings then lie further apart if ties are frequent.",
        first=True,
    )
    prior: float = option(
        0.0, "Bradley-Terry: votes added to every pair, half for each; makes all ratings finite.", low=0
    )
    covariates: Sequence[str] | None = option(
        None,
        "Bradley-Terry: covariates to adjust for: length, headers, bold, lists of the texts, or columns.",
        details="A name refers to two columns, such as ``first_length`` and ``second_length``, to one column of "
        "differences (first − second), or to a count in the columns ``first_text`` and ``second_text``. Counts "
        "enter as (first − second) / (first + second), in units of their spread over all votes, as in Chatbot Arena's "
        "style control. Ratings then apply to outputs with equal covariates.",
        first=True,
    )
    scored: str | None = option(
        None,
        "Item column with the systems whose outputs were scored; scores become votes.",
        details="Of two systems that an annotator scored on one source, the one with the higher score wins; equal "
        "scores are a tie. Scores of different annotators are not compared, so that their scales can differ.",
    )
    sources: str | None = option(None, "With scored: item column with the source that an output answers.")
    k: float = option(32.0, "Elo: largest change of a rating by one vote.", above=0, details="In points.")
    order: str | None = option(
        None,
        "Elo: column with the order of the votes (default: random orders).",
        details="With it a rating, and each resample, is one run through the votes in that order. Without it a rating "
        "is the mean over ``n_orders`` random orders, because the last votes of a run count most and no order is the "
        "right one; each resample is the mean over up to ten orders, or fewer if there are many votes, which makes the "
        "interval wider (a note reports the number).",
    )
    n_orders: int = option(
        100,
        "Elo: number of random orders of the votes; ratings are their mean.",
        low=1,
        details="With ``order`` they measure how much the order matters.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        changed = self.changed()
        if (self.scored is None) != (self.sources is None):
            raise DesignError(
                "scores become votes with both scored=... (the item column of systems) and sources=... (the item "
                "column of what their outputs answer)", option="scored" if self.scored is None else "sources",
            )  # fmt: skip
        for model, names in self.of_model.items():
            if model != self.model and (given := [name for name in names if name in changed]):
                raise DesignError(
                    f"{given[0]}=... is an option of model='{model}'; got model='{self.model}'", option=given[0]
                )


@dataclass(frozen=True)
class NextPairsSettings(Settings):
    """Options of `assay.results.Leaderboard.next_pairs`."""

    n: int = option(10, "Number of pairs of systems.", low=1)
    _: KW_ONLY
    who: str | None = option(None, "Leaderboard: humans, a judge's name, together (default: the first).")
    aim: Aim = option(
        "information",
        "Order pairs by the information of a further vote, or by the width of the interval of their difference.",
    )


@dataclass(frozen=True, kw_only=True)
class OutputSettings(VotesSettings):
    """Options that `assay.separability` and `assay.separability_sweep` share."""

    similarity: Any = option(
        "rouge-1",
        f"Similarity measure for texts: {FOR_HELP}.",
        details="The paper's is ``bertscore-length:MODEL``. Also a function of two texts, with an optional method "
        "``matrix`` that scores all pairs of a list at once, or a `assay.similarity.protocol.Similarity`. Each output "
        "is encoded once for any number of systems.",
        first=True,
    )
    span: Span = option(
        "study",
        "Scale alignments to 0–1 by the smallest and largest of the study, or do not scale them.",
        details="``study`` is the published definition.",
    )


@dataclass(frozen=True, kw_only=True)
class SeparabilitySettings(OutputSettings):
    """Options of `assay.separability`."""

    by: str | None = option(
        None, "Analyse each value of this item column separately, such as the benchmark.", first=True
    )


@dataclass(frozen=True)
class PairsSettings(Settings):
    """Options of `assay.results.Separability.pairs`."""

    n: int = option(5, "Pairs of outputs for each item and two systems.", low=1, details="The paper uses 5.")
    _: KW_ONLY
    n_items: int | None = option(None, "Items for every two systems (default: all).", low=1)
    choose: Choose = option(
        "weighted",
        "Choose items with probability increasing in separability, equally from quarters of its range, or the top.",
        details="Section 4 of the paper recommends ``weighted``.",
    )
    seed: int = seed_option()


@dataclass(frozen=True)
class StabilitySettings(Settings):
    """Options of `assay.results.Separability.stability`."""

    k: Sequence[int] = option((), "Numbers of outputs of each system, drawn without replacement; at least 2.")
    n_draws: int = option(20, "Number of random draws.", low=1)
    seed: int = seed_option()
    _: KW_ONLY
    c: Sequence[int] = option((), "Numbers of comparisons of outputs of both systems, drawn at random.")
    others: Mapping[str, Any] | None = option(
        None,
        "By name, separability of other outputs of the same items and systems.",
        details="For example, outputs sampled at another temperature.",
    )


@dataclass(frozen=True, kw_only=True)
class SweepSettings(OutputSettings):
    """Options of `assay.separability_sweep`."""

    k: Sequence[int] | None = option(
        None,
        "Numbers of outputs of each system, drawn without replacement (default: from 2 to all).",
        details="At least 2; an empty list draws none.",
        first=True,
    )
    c: Sequence[int] | None = option(
        None,
        "Numbers of comparisons of outputs of both systems, drawn at random (default: five numbers).",
        details="An empty list draws none.",
        first=True,
    )
    condition: str | None = option(
        None,
        "Column whose values are compared, such as the temperature of the systems.",
        first=True,
    )
    baseline: Any = option(None, "With condition: the value to compare with (default: the first).")
    n_draws: int = option(20, "Number of random draws of outputs and comparisons.", low=1)


@dataclass(frozen=True, kw_only=True)
class PositionSettings(IntervalSettings):
    """Options of `assay.position_bias`."""

    method: Method = option("percentile", "Interval method.")
    clusters: str | None = option(None, "Column that groups dependent items, such as the document.")


# -- Votes as arrays -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes as arrays, one entry per vote, in the order of the table.

    Attributes
    ----------
    systems : tuple of str
        In natural order.
    first, second : (votes,) int
        Positions in ``systems``.
    label : (votes,) int
        −1 for the first, 0 for a tie, 1 for the second, for any grade.
    share : (votes,) float
        Weight as a vote; the rest counts as a tie. With ``grades="shares"``, the grade as a share of the highest.
    item : (votes,) int
        Positions in ``items``.
    annotator : (votes,) int
        Rows of ``annotators``.
    again : tuple of (votes,) int
        Identifiers of an annotator's repeated votes on an item: the repeat, then conditions.
    items : polars.Series
        Names, sorted.
    annotators : polars.DataFrame
        ``annotator``, ``kind``.
    clusters : (items,) int or None
    columns : mapping
        The requested columns, by the name that the user gave.
    data : str
        Fingerprint of the labels and of all used columns.
    exclusions : tuple of Exclusion
    cautions : tuple of str
        About dependent votes, if intervals assume that they are independent.
    """

    systems: tuple[str, ...]
    first: Ints
    second: Ints
    label: Ints
    item: Ints
    annotator: Ints
    again: tuple[Ints, ...]
    items: pl.Series
    annotators: pl.DataFrame
    clusters: Ints | None
    columns: Mapping[str, pl.Series]
    data: str
    share: Floats
    exclusions: tuple[Exclusion, ...] = ()
    cautions: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, labels: Annotations | Chunks, settings: VotesSettings, question: str, *columns: str | None,
        category: str | None = None,
    ) -> Votes:  # fmt: skip
        """The votes of a table, with further columns: numbers as numbers, except for a category.

        Raises
        ------
        DesignError
            For labels that are not votes, or on several criteria.
        DataError
            For a vote without a system, or on a system against itself.
        """
        labels = as_shown(labels.in_memory(question))
        labels = labels.of_kind("preference")
        _refuse_other_labels(labels, question)
        wanted = {name: _numbers(labels.column(name)) for name in columns if name is not None}
        if category is not None:
            wanted[category] = labels.column(category)
        whole = (PAIR_OF,) if PAIR_OF in _columns(labels) else ()
        conditions = [c for c in labels.conditions if c in labels.labels.columns]
        given = {labels.column_name(name) for name in (*PAIR, *whole, *wanted)}
        again = [c for c in ("repeat", *conditions) if c in labels.labels.columns and c not in given]
        systems, pair = _coded_systems(labels)
        item = Coded(*labels.codes_of("item"))
        by_user = (
            settings.clusters is not None and labels.names.get(settings.clusters, settings.clusters) == "annotator"
        )
        clusters = None if settings.clusters is None or by_user else cluster_codes(labels, settings.clusters)
        if whole:
            item, clusters = _whole_items(labels, item, clusters, settings.clusters)
        if by_user:
            clusters = _users(labels, item)
        label = labels.labels["label"].cast(pl.Int64).to_numpy()
        share = _shares(labels, label) if getattr(settings, "grades", "alike") == "shares" else np.ones(len(label))
        used = (*PAIR, *whole, *wanted, None if by_user else settings.clusters)
        made = cls(
            systems, pair[0], pair[1], np.sign(label), item.codes.astype(np.int64),
            labels.codes_of("annotator").codes.astype(np.int64),
            tuple(labels.codes_of(c).codes.astype(np.int64) for c in again), item.names,
            labels.annotators.select("annotator", "kind"), clusters, wanted,
            fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *used)), share,
        )  # fmt: skip
        return made._keep_systems(settings.systems)._sort_items()

    def __len__(self) -> int:
        return len(self.label)

    @property
    def n_items(self) -> int:
        """Number of items with votes."""
        return len(self.items)

    @cached_property
    def facts(self) -> dict[str, object]:
        """Counts for the signature: items, votes, systems, humans, judges."""
        seen = np.flatnonzero(np.bincount(self.annotator))
        judges = int((self.annotators["kind"].gather(seen) == "judge").sum())
        return {"items": self.n_items, "votes": len(self), "systems": len(self.systems), "humans": len(seen) - judges,
                "judges": judges}  # fmt: skip

    @property
    def judges(self) -> set[str]:
        """Names of the judges."""
        return set(self.annotators.filter(pl.col("kind") == "judge")["annotator"])

    def units(self, width: int) -> Units:
        """The resampling units: items, clusters, or blocks of either."""
        return Units.of(self.n_items, self.clusters, width=width)

    @property
    def won(self) -> Floats:
        """Score of the first system in each vote: 1, ½ for a tie, 0, and values between with grades."""
        return np.asarray((1 - self.label * self.share) / 2)

    def counts(self, weights: Floats | None = None, unit: Ints | None = None, n: int = 1) -> Floats:
        """Votes, or their weights, by unit, outcome (first, tie, second) and systems: (n, 3, systems, systems)."""
        if weights is None and unit is None and n == 1:
            return self._counts
        return self._count(weights, unit, n)

    @cached_property
    def tally(self) -> Floats:
        """Whole votes by outcome and systems, regardless of grades: (3, systems, systems)."""
        whole: Floats = replace(self, share=np.ones(len(self))).counts()[0]
        return whole

    @cached_property
    def _counts(self) -> Floats:
        return self._count(None, None, 1)

    def _count(self, weights: Floats | None, unit: Ints | None, n: int) -> Floats:
        s = len(self.systems)
        cell = ((self.label + 1) * s + self.first) * s + self.second
        if unit is not None:
            cell += unit * (3 * s * s)
        if (self.share == 1).all():
            found: Floats = np.bincount(cell, weights, n * 3 * s * s).reshape(n, 3, s, s)  # type: ignore[assignment]
            return found
        each = np.ones(len(self)) if weights is None else weights
        whole = np.bincount(cell, each * self.share, n * 3 * s * s)
        tied = np.bincount(cell - self.label * s * s, each * (1 - self.share), n * 3 * s * s)
        return np.asarray(whole + tied).reshape(n, 3, s, s)

    def sorted(self) -> Votes:
        """Sorted by item, annotator, repeat and pair, so that no result depends on the order of rows or on sides."""
        system, annotator = _ranks(pl.Series(self.systems)), _ranks(self.annotators["annotator"])
        first, second = system[self.first], system[self.second]
        swapped = first > second
        # The pair and the winner come before the side that was shown.
        keys = [self.item, annotator[self.annotator], *self.again, np.minimum(first, second), np.maximum(first, second),
                np.where(swapped, -self.label, self.label) + 1, swapped.astype(np.int64)]  # fmt: skip
        order, _ = sort_cells(*cell_numbers((int(key.max(initial=0)) + 1, key) for key in keys))
        return self if order is None else self._rows(order)

    def _rows(self, rows: Any) -> Votes:
        """Some of the votes, or all in another order."""
        which = pl.Series(np.flatnonzero(rows) if rows.dtype == bool else rows)
        return replace(
            self, first=self.first[rows], second=self.second[rows], label=self.label[rows], share=self.share[rows],
            item=self.item[rows],
            annotator=self.annotator[rows], again=tuple(codes[rows] for codes in self.again),
            columns={name: column.gather(which) for name, column in self.columns.items()},
        )  # fmt: skip

    def among(self, rows: Bools) -> Votes:
        """Some of the votes, with only their systems and items."""
        if rows.all():
            return self
        kept = self._rows(rows)
        there = np.bincount(kept.first, minlength=len(self.systems)) + np.bincount(
            kept.second, minlength=len(self.systems)
        )
        place = np.cumsum(there > 0) - 1
        systems = tuple(name for name, n in zip(self.systems, there, strict=True) if n)
        return replace(kept, systems=systems, first=place[kept.first], second=place[kept.second])._sort_items()

    def combine(self, other: Votes) -> Votes:
        """These votes and further ones."""
        systems = natural({*self.systems, *other.systems})
        items, places = _merge_names(self.items, other.items.cast(self.items.dtype))
        both = pl.concat([self.annotators, other.annotators]).unique(maintain_order=True)
        if (twice := both.filter(both["annotator"].is_duplicated())).height:
            raise DesignError(
                f"'{twice['annotator'][0]}' is a human in one of the tables and a judge in the other; name the judges "
                "with judges=... when reading both"
            )

        def codes(names: Any, all_names: Any, mine: Ints) -> Ints:
            if list(names) == list(all_names):
                return mine
            place = {name: i for i, name in enumerate(all_names)}
            return np.array([place[name] for name in names], dtype=np.int64)[mine]

        parts = (self, other)
        same_keys = len(self.again) == len(other.again)
        return replace(
            self, systems=systems, items=items, annotators=both, data=fingerprint_with(self.data, added=other.data),
            first=np.concatenate([codes(one.systems, systems, one.first) for one in parts]),
            second=np.concatenate([codes(one.systems, systems, one.second) for one in parts]),
            label=np.concatenate([one.label for one in parts]),
            share=np.concatenate([one.share for one in parts]),
            item=np.concatenate(
                [one.item if at is None else at[one.item] for one, at in zip(parts, places, strict=True)]
            ),
            annotator=np.concatenate(
                [codes(one.annotators["annotator"], both["annotator"], one.annotator) for one in parts]
            ),
            again=tuple(map(np.concatenate, zip(self.again, other.again, strict=True))) if same_keys else (),
            columns={name: pl.concat([column, other.columns[name].cast(column.dtype)])
                     for name, column in self.columns.items()},
            exclusions=(*self.exclusions, *other.exclusions),
        )  # fmt: skip

    def _keep_systems(self, wanted: Sequence[str] | None) -> Votes:
        """Votes between the requested systems; the other votes are counted as excluded."""
        if wanted is None:
            return self
        for name in wanted:
            if name not in self.systems:
                raise DataError(unknown("system", name, self.systems, "the votes"))
        if len(set(wanted)) < 2:
            raise DesignError("systems=... needs at least two systems")
        systems = natural(set(wanted))
        place = np.array([systems.index(name) if name in systems else -1 for name in self.systems])
        keep: Bools = (place[self.first] >= 0) & (place[self.second] >= 0)
        if not keep.any():
            raise DesignError(f"no vote compares two of {listing(wanted)}")
        out = int((~keep).sum())
        gone = (Exclusion("vote", out, "on a system that systems=... does not name"),) if out else ()
        kept = self._rows(keep)
        return replace(kept, systems=systems, first=place[kept.first], second=place[kept.second], exclusions=gone)

    def _sort_items(self) -> Votes:
        """Only the items that have a vote, sorted by name."""
        there = np.bincount(self.item, minlength=len(self.items)) > 0
        if there.all() and self.items.is_sorted():
            return self
        kept = np.flatnonzero(there)[self.items.filter(pl.Series(there)).arg_sort().to_numpy()]
        place = np.empty(len(there), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        clusters = None if self.clusters is None else self.clusters[kept]
        return replace(self, item=place[self.item], items=self.items.gather(kept), clusters=clusters)


def _shares(labels: Annotations, label: Ints) -> Floats:
    """Each vote's grade as a share of the highest; 1 for a tie."""
    if not (isinstance(labels.scale, Preference) and labels.scale.grades):
        raise DesignError(
            "grades=... needs votes with grades, as on the scale 'preference:slightly better<much better'; each of "
            f"these is {labels.scale.describe()}; remove the option"
        )
    return np.where(label == 0, 1.0, np.abs(label) / labels.scale.bounds[1])


def _coded_systems(labels: Annotations) -> tuple[tuple[str, ...], tuple[Ints, Ints]]:
    """The systems in natural order, and the two of each vote."""
    coded_pair = [_coded_column(labels, name) for name in PAIR]
    empty = [one.codes == 0 for one in coded_pair if one.names.null_count()]
    if empty:
        _refuse_votes(labels, np.logical_or.reduce(empty), "does not name both systems")
    names = [one.names.cast(pl.String).to_list() for one in coded_pair]
    systems = natural({*names[0], *names[1]})
    place = {name: i for i, name in enumerate(systems)}
    first, second = (np.array([place[n] for n in mine])[one.codes] for mine, one in zip(names, coded_pair, strict=True))
    same = first == second
    if same.any():
        _refuse_votes(labels, same, f"compares a system with itself ({systems[first[np.argmax(same)]]})")
    return systems, (first, second)


def _coded_column(labels: Annotations, name: str) -> Coded:
    """A column of the labels, their items or annotators as codes, one per label."""
    name = labels.column_name(name)
    if name in labels.labels.columns:
        return labels.codes_of(name)
    frame, role = (labels.items, "item") if name in labels.items.columns else (labels.annotators, "annotator")
    names, codes = factorize(frame[name])
    found = Coded(names, codes[labels.codes_of(role).codes])
    return found.where(np.ones(len(found.codes), dtype=bool))  # drops names of items without labels


def _whole_items(
    labels: Annotations, item: Coded, clusters: Ints | None, name: str | None
) -> tuple[Coded, Ints | None]:
    """Votes by the item of their pairs of outputs, and the cluster of each such item."""
    whole = _coded_column(labels, PAIR_OF)
    if whole.names.null_count():
        row = int(np.flatnonzero(whole.codes == 0)[0])
        raise DataError(
            f"item '{labels.labels['item'][row]}' has no value of '{PAIR_OF}', the item of its pair of outputs; fill "
            "in all rows, or remove that column"
        )
    found = None
    if clusters is not None:
        mine = clusters[item.codes]
        found = np.zeros(len(whole.names), dtype=np.int64)
        found[whole.codes] = mine
        if (strange := found[whole.codes] != mine).any():
            of = whole.names[int(whole.codes[strange][0])]
            raise DesignError(f"pairs of '{of}' are in several clusters of clusters='{name}'")
    return Coded(whole.names.cast(pl.String), whole.codes), found


def _numbers(column: pl.Series) -> pl.Series:
    """Text that is a number in every row, as in a separate table of items, as numbers."""
    if column.dtype != pl.String:
        return column
    for kind in (pl.Int64, pl.Float64):
        found = column.cast(kind, strict=False)
        if found.null_count() == column.null_count() < len(column):
            return found
    return column


def _merge_names(names: pl.Series, others: pl.Series) -> tuple[pl.Series, tuple[Ints | None, Ints]]:
    """Merge sorted names, and return the new positions of both; None if the positions of the first do not change.

    Only the others are looked up, so that adding a few to a million is cheap.
    """
    at = np.asarray(names.search_sorted(others), dtype=np.int64)
    known = (names.gather(np.minimum(at, len(names) - 1)) == others).to_numpy() & (at < len(names))
    new = at[~known]
    before = np.arange(len(new)) + new  # final positions of the new names
    if not len(new):
        return names, (None, at)
    moved = np.arange(len(names)) + np.searchsorted(new, np.arange(len(names)), side="right")
    order = np.empty(len(names) + len(new), dtype=np.int64)
    order[moved], order[before] = np.arange(len(names)), len(names) + np.arange(len(new))
    both = pl.concat([names, others.filter(pl.Series(~known))]).gather(order)
    where = np.empty(len(others), dtype=np.int64)
    where[known], where[~known] = moved[at[known]], before
    return both, (moved, where)


def _users(labels: Annotations, item: Coded) -> Ints:
    """The human who voted on each item, or the judge if no human did; it is an error if several humans did."""
    table = labels.annotators.select("annotator", "kind")
    who = labels.codes_of("annotator").codes.astype(np.int64)
    user = np.full(len(item.names), -1)
    for kind in ("judge", "human"):
        mine = (table["kind"] == kind).to_numpy()[who]
        user[item.codes[mine]] = who[mine]
        if (several := user[item.codes[mine]] != who[mine]).any():
            row = np.flatnonzero(mine)[int(np.argmax(several))]
            if kind == "judge":
                continue  # a human takes precedence
            pair = sorted(table["annotator"][int(one)] for one in (who[row], user[item.codes[row]]))
            raise DesignError(
                f"clusters='annotator' needs items with votes of one human each; {listing(pair)} voted on item "
                f"'{item.names[int(item.codes[row])]}'; remove clusters: intervals then apply to these annotators"
            )
    return user


def _ranks(names: pl.Series) -> Ints:
    """The position of each name in sorted order."""
    return np.argsort(names.arg_sort().to_numpy()).astype(np.int64)


def _columns(labels: Annotations) -> set[str]:
    """Every column of the table, under its own name and under the user's name for it."""
    return {c for frame in (labels.labels, labels.items, labels.annotators) for c in frame.columns} | set(labels.names)


def has_votes(labels: Annotations) -> bool:
    """Whether the table contains votes on pairs of named systems, on one criterion."""
    votes = labels.of_kind("preference")
    return len(votes.criteria) < 2 and votes.scale.kind == "preference" and set(PAIR) <= _columns(votes)


def has_separability(labels: Annotations) -> bool:
    """Whether every vote is on an item with a separability, as in a study with systems."""
    if "separability" not in _columns(labels):
        return False
    column = labels.column("separability")
    return column.dtype.is_numeric() and not column.null_count()


RATED = "Bradley-Terry", "Elo"
"""What `assay.ratings` estimates; it takes scores, too."""


def _refuse_other_labels(labels: Annotations, question: str) -> None:
    if len(labels.criteria) > 1:
        raise DesignError(
            f"{question} needs one criterion; the table has {listing(labels.criteria)}; choose one with "
            f"labels.where(criterion='{labels.criteria[0]}')"
        )
    if labels.scale.kind != "preference":
        raise DesignError(
            f"{question} needs votes: labels first, second or tie (−1, 1 or 0); each of these is "
            f"{labels.scale.describe()}; a file of votes is read with scale='preference'"
            + ("; scores of systems are votes with scored=... and sources=..." if question in RATED else "")
        )
    absent = [c for c in PAIR if c not in _columns(labels)]
    if absent:
        raise DesignError(
            f"votes need columns 'first' and 'second' that name the two systems; the table has no '{absent[0]}' "
            "(tables with model_a, model_b and winner are read directly)"
        )


def _refuse_votes(labels: Annotations, strange: Bools, words: str) -> None:
    row, others = int(np.argmax(strange)), int(strange.sum()) - 1
    annotator, item = labels.labels["annotator"][row], labels.labels["item"][row]
    also = f"; {counted(others, 'other vote')} likewise" if others else ""
    raise DataError(f"the vote of '{annotator}' on item '{item}' {words}{also}")


# -- Votes from scores -----------------------------------------------------------------------------
# Scores of translations, summaries or answers rank systems as votes do, on any scale of an annotator: humans can score
# from 0 to 100 and a judge from 1 to 5.


def votes_of_scores(labels: Annotations, system: str, sources: str) -> tuple[Annotations, tuple[Exclusion, ...], str]:
    """Return the votes, the scores that were compared with none, and the fingerprint of scores and columns.

    Parameters
    ----------
    labels : Annotations
        Scores on one criterion.
    system, sources : str
        The columns of the systems, and of what their outputs answer or translate.

    Raises
    ------
    DesignError
        For votes, categories without order, several criteria, or if no annotator scored two systems on a source.
    """
    if len(labels.criteria) > 1:
        raise DesignError(
            f"scores of one criterion are compared; the table has {listing(labels.criteria)}; choose one with "
            f"labels.where(criterion='{labels.criteria[0]}')"
        )
    if not labels.scale.numeric:
        raise DesignError(
            f"scored='{system}' compares scores; each label is {labels.scale.describe()}", option="scored"
        )
    again = [c for c in ("repeat", *labels.conditions) if c in labels.labels.columns]
    scores = labels.labels.select("item", "annotator", *again, score=pl.col("label").cast(pl.Float64)).with_columns(
        system=labels.column(system).cast(pl.String), source=labels.column(sources).cast(pl.String)
    )
    for name, column in ((system, "system"), (sources, "source")):
        if scores[column].null_count():
            item = scores.filter(pl.col(column).is_null())["item"][0]
            raise DataError(f"item '{item}' has no value of '{name}'; fill it in, or leave the item out")
    pairs = scores.join(scores, on=["annotator", "source", *again], suffix="_2").filter(
        pl.col("system") < pl.col("system_2")
    )
    if not pairs.height:
        raise DesignError(
            f"no annotator scored two systems ('{system}') on one source ('{sources}'); name the column of what the "
            "systems answered with sources=...", option="sources",
        )  # fmt: skip
    compared = pl.concat([pairs[name].cast(pl.String) + "\0" + pairs["annotator"] for name in ("item", "item_2")])
    alone = scores.height - int((scores["item"] + "\0" + scores["annotator"]).is_in(compared.implode()).sum())
    conditions = [c for c in again if c != "repeat"]
    votes = pairs.select(
        *conditions, "annotator", item="source", label=(pl.col("score_2") - pl.col("score")).sign(),
        first="system", second="system_2",
    )  # fmt: skip
    number = pl.int_range(1, pl.len() + 1).over("annotator", "item", "first", "second", *conditions)
    votes = votes.with_columns(repeat=number) if votes.select(number.max()).item() > 1 else votes
    # With one label per item, columns about items can be in the table of labels.
    about = labels.labels.drop("annotator", "label", *again).join(labels.items, on="item").with_columns(
        item=scores["source"])  # fmt: skip
    one_each = about.group_by("item").n_unique().drop("item")
    kept = [name for name in one_each.columns if name not in PAIR and one_each[name].max() == 1]
    made = Annotations.from_frame(
        votes, scale="preference", humans=list(labels.humans), judges=list(labels.judges), spelling="apart",
        items=about.select("item", *kept).unique("item", maintain_order=True), conditions=conditions,
        reading=replace(labels.reading, notes=()),
    )  # fmt: skip
    data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, system, sources))
    why = "no score of another system by the annotator on the same source"
    gone = (Exclusion("label", alone, why),) if alone else ()
    return made, gone, data


# -- Choice of items and outputs for new votes -----------------------------------------------------
# Ghosh, Srinivasan & Swayamdipta (2024, section 4) recommend to draw items with weights that increase with
# separability, or from each range of it, instead of only the most separable, because the others are still informative.

STRATA = 4
"""Ranges of separability, of equal width, as in the paper's figure 6."""


def weight(separability: Floats, alpha: float = ALPHA, beta: float = BETA, threshold: float = THRESHOLD) -> Floats:
    """Equation 6: the weight of a vote on an item of this separability; 1 at the threshold."""
    return np.asarray(alpha / (1 + np.exp(-beta * (separability - threshold))))


def strata(separability: Floats, n: int = STRATA) -> Ints:
    """The index, from 0, of each separability among n ranges of equal width."""
    low, high = float(separability.min()), float(separability.max())
    return np.asarray(np.clip(((separability - low) / max(high - low, 1e-12) * n).astype(int), 0, n - 1))


def chosen_items(items: pl.DataFrame, n: int | None, choose: Choose, seed: int = 0) -> pl.DataFrame:
    """The items for new votes, for every two systems.

    Parameters
    ----------
    items : polars.DataFrame
        ``item``, ``first``, ``second``, ``separability``: `assay.results.Separability.items`.
    n : int or None
        Items for every two systems; None for all.
    choose : {"weighted", "stratified", "top"}
        Draw with the weights of equation 6, which increase with separability; draw equal numbers from four ranges of
        equal width; take the most separable. The random number of an item does not depend on the other items.
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
    # The smallest exponential times with these rates are a weighted draw without replacement.
    place = -np.log(keys) / weight(delta) if choose == "weighted" else -delta if choose == "top" else keys
    kept = []
    for rows in items.with_row_index("_row").partition_by("first", "second", maintain_order=True):
        mine = rows["_row"].to_numpy()
        order = mine[np.argsort(place[mine], kind="stable")]
        if choose == "stratified":
            order = _take_turns(order, strata(delta[mine])[np.argsort(place[mine], kind="stable")])
        kept += order[:n].tolist()
    return items[sorted(kept)]


def _take_turns(order: Ints, group: Ints) -> Ints:
    """The first of each group, then the second of each, and so on, skipping exhausted groups."""
    turn = np.array([(group[:i] == g).sum() for i, g in enumerate(group)])
    return np.asarray(order[np.lexsort((-group, turn))])


def pairs_of(outputs: pl.DataFrame, chosen: pl.DataFrame, n: int = 5, seed: int = 0) -> pl.DataFrame:
    """Pairs of outputs of the chosen items: no pair twice, and every output equally often.

    Parameters
    ----------
    outputs : polars.DataFrame
        ``item``, ``annotator`` (the system), ``repeat``, ``label`` (the text).
    chosen : polars.DataFrame
        ``item``, ``first``, ``second``, ``separability``.
    n : int
        Pairs for each item and two systems, or all if there are fewer.

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
        raise DesignError("no item has outputs of two systems; pairs need at least two systems per item")
    return pl.DataFrame(rows)


def _uniform(*parts: object) -> float:
    """A number between 0 and 1 that depends only on these arguments."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
