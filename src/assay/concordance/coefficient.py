"""One coefficient of agreement: what it measures, what it needs, and the number with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from assay.concordance.few import MOST_ITEMS, Spread, score_of
from assay.concordance.settings import CoefficientSettings, taken_by
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Scale
from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimate, Estimates, Transform, near_the_ends
from assay.estimation.options import Taken
from assay.estimation.resampling import How, Sums, Units
from assay.estimation.result import Exclusion, Result, Run
from assay.estimation.statistic import Estimated, Floats, Ints
from assay.reporting import pictures
from assay.reporting.words import interval, said
from assay.statistics.base import PanelStatistic, grid
from assay.statistics.pairs import MeanOfPairs, PairStatistic
from assay.statistics.ranks import AlphaRanks, PairRanks, Ranks
from assay.statistics.together import Together

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Needs = Literal["labels", "categories", "order", "ordered categories", "numbers", "range"]

MOST_IN_PAIRS = 30
"""Annotators up to which a coefficient of two is averaged over all their pairs."""

MOST_VALUES = 32
"""A rank statistic takes its table of values up to this many different labels, and weights of items above."""

MOST_WEIGHED = 3_000
"""Up to this many items a statistic of weights is resampled; above, its interval comes from batches."""

BATCHES = 100

INTERVAL_NAMES: dict[Transform, str] = {
    "none": "jackknife",
    "fisher": "jackknife-z",
    "rank": "jackknife-z",
    "log": "jackknife-log",
    "share": "wilson",
}

MOST_SCORED = 45
"""Pairs of annotators up to which each is looked at for labels that are rare."""


@dataclass(frozen=True, eq=False)
class Measure:
    """A coefficient before it meets data.

    Attributes
    ----------
    name, title : str
        For signatures, and for people.
    needs : str
        What the scale must offer: any labels, finite ``categories``, ``order``, both, ``numbers``, a ``range``.
    panel, pair : function of Ratings
        The statistic of all labels of an item, or of two; one of them. A pair statistic of None stands
        for ranks of labels that have too many values for a table.
    ranks : str, optional
        Which rank statistic that is.
    transform : str
        Where intervals are symmetric.
    zero : bool
        Whether 0 says "no better than chance", so that it makes sense to test it.
    highest : float, optional
        The largest value that there is.
    lower_is_better : bool
        For errors.
    directed : bool
        Whether it changes when the two annotators are swapped, so that a mean over pairs says nothing.
    takes_means : bool
        Whether a consensus may be a mean, which need not be a label of the scale.
    share : bool
        Whether it is the mean of a share of each item, from 0 to 1.
    random : bool
        Whether annotators are a sample by its definition, as in the ICCs of random annotators.
    rare_label : bool
        Whether a rare label alone decides it, so that it has no interval where hardly any item has one.
    tails : bool
        Whether the largest distances decide it, as they do where distances are squared.
    """

    name: str
    title: str
    needs: Needs
    panel: Callable[[Ratings], PanelStatistic | Ranks] | None = None
    pair: Callable[[Ratings], PairStatistic | None] | None = None
    ranks: Literal["spearman", "kendall"] = "spearman"
    transform: Transform = "fisher"
    zero: bool = True
    highest: float | None = None
    lower_is_better: bool = False
    directed: bool = False
    takes_means: bool = False
    share: bool = False
    random: bool = False
    rare_label: bool = False
    tails: bool = False

    def check(self, ratings: Ratings) -> None:
        """Raise a `DesignError` where the scale does not offer what the coefficient needs."""
        if self.needs not in offered(ratings.scale):
            words = {
                "labels": "labels that can be equal, not free text",
                "categories": "categories that can be counted",
                "order": "labels with an order",
                "ordered categories": "categories with an order",
                "numbers": "labels that are numbers",
                "range": "a scale with a lowest and a highest number",
            }
            raise DesignError(
                f"{self.title} needs {words[self.needs]}; these are on '{ratings.scale.spec}'. "
                "Choose another coefficient, or say which scale the labels are on with scale=..."
            )

    def statistic(
        self, ratings: Ratings, first: Ints | None = None, second: Ints | None = None
    ) -> PanelStatistic | Ranks:
        """What is to be estimated; for a coefficient of two annotators over these pairs of them."""
        if self.panel is not None:
            return self.panel(ratings)
        assert self.pair is not None
        assert first is not None
        assert second is not None
        pair = self.pair(ratings)
        if pair is None:
            return PairRanks(self.ranks, grid(ratings.answers), first, second)
        return MeanOfPairs(pair, first, second)

    def where_few(
        self, found: Estimates, spread: Spread, statistic: PanelStatistic | Ranks, i: int | None = None
    ) -> Estimates:
        """The first value, or value ``i`` by itself, with the interval that it has where few items decide.

        What is ``found`` comes back where many do.
        """
        score = score_of(found, i or 0, spread, statistic, rare_label=self.rare_label, tails=self.tails)
        if score is None:
            return found
        return (found if i is None else found.part(np.array([i]))).scored(score)


@lru_cache(maxsize=64)
def offered(scale: Scale) -> frozenset[Needs]:
    """What labels on a scale are."""
    offers: dict[Needs, bool] = {
        "labels": scale.kind != "text",
        "categories": scale.categories is not None or scale.kind == "nominal",
        "order": scale.ordered,
        "ordered categories": scale.ordered and scale.categories is not None,
        "numbers": scale.numeric,
        "range": scale.numeric and scale.bounds is not None,
    }
    return frozenset(need for need, there in offers.items() if there)


@dataclass(frozen=True, eq=False)
class Coefficient(Result):
    """A coefficient of agreement with its interval.

    Attributes
    ----------
    name, title : str
        Which coefficient.
    estimate, low, high, standard_error : float
        NaN where it cannot be estimated; `reason` says why.
    n_items, n_labels : int
        Items that it rests on, and labels in the table.
    annotators : tuple of str
        Who was compared.
    pairs : tuple of (annotator, annotator, Estimate)
        For a coefficient of two annotators that was averaged over pairs: each of them.
    run : Run
        Every option, how the interval was made, what does not count, what was decided on the way.
    """

    name: str
    title: str
    estimate: float
    low: float
    high: float
    standard_error: float
    reason: str | None
    n_items: int
    n_labels: int
    annotators: tuple[str, ...]
    pairs: tuple[tuple[str, str, Estimate], ...]
    run: Run
    found: Estimates = field(repr=False, metadata={"json": False})

    @property
    def interval(self) -> str:
        """How the interval was made."""
        return self.run.interval

    @property
    def table(self) -> pl.DataFrame:
        """The coefficient and, where it is a mean over pairs of annotators, each pair."""
        whole = (", ".join(self.annotators) if len(self.annotators) <= 3 else f"{len(self.annotators)} annotators",)
        rows: list[tuple[object, ...]] = [(*whole, self.estimate, self.low, self.high, self.n_items, self.reason)]
        rows += [(f"{a} & {b}", i.estimate, i.low, i.high, None, i.reason) for a, b, i in self.pairs]
        schema = {
            "annotators": pl.String,
            "estimate": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
            "n": pl.Int64,
            "reason": pl.String,
        }
        return pl.DataFrame(rows, schema=schema, orient="row").with_columns(coefficient=pl.lit(self.name))

    def summary(self) -> str:
        """Value, interval, what it rests on."""
        level = f"{100 * self.found.confidence:g}%"
        if np.isfinite(self.low):
            number = f"{said(self.estimate, 3)}, {level} interval {interval(self.low, self.high, 3)}"
        else:
            number = f"{said(self.estimate, 3)}, no interval: {self.reason}"
        lines = [f"{self.title}: {number}."]
        who = f"{len(self.annotators)} annotators" if len(self.annotators) > 2 else " and ".join(self.annotators)
        lines.append(f"{self.n_items:,} items, {who}; {self.interval}.")
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The coefficient and its pairs of annotators as a forest plot."""
        table = self.table
        names = [self.title, *table["annotators"][1:]] if self.pairs else [self.title] * table.height
        ax = pictures.axes(ax, height=1.2 + 0.26 * len(names))
        pictures.forest(ax, names, *(table[c].to_list() for c in ("estimate", "low", "high")))
        ax.set_xlabel(self.title)
        return ax


def coefficient(measure: Measure, labels: Annotations | Chunks, settings: CoefficientSettings) -> Coefficient:
    """Check, reduce the table to ratings, estimate, wrap: what every coefficient does."""
    return of_ratings(measure, ratings_of(labels, settings), settings)


def of_ratings(measure: Measure, ratings: Ratings, settings: CoefficientSettings) -> Coefficient:
    """The coefficient of ratings, with its interval."""
    measure.check(ratings)
    first = second = None
    exclusions: list[Exclusion] = []
    if measure.pair is not None:
        first, second, apart = pairs_of(ratings, measure)
        if apart:
            exclusions.append(Exclusion("pair of annotators", apart, "fewer than two items in common"))
    statistic = measure.statistic(ratings, first, second)
    found = estimate_of(ratings, statistic, settings, measure.transform)
    pairs = _named_pairs(measure, ratings, found, first, second)
    taken, m = taken_by(settings, settings.taken, random=measure.random), len(ratings.annotators)
    each = found.value[found.value.size > 1 :]
    found = taking(found, taken, partial(_without_each, measure, ratings, each, first, second), m)
    found = measure.where_few(found, Spread(ratings), statistic)
    if ratings.n_items > found.n_items:
        exclusions.append(Exclusion("item", ratings.n_items - found.n_items, "no two labels to compare"))
    return wrap(measure, ratings, found, pairs, exclusions, settings)


def _without_each(measure: Measure, ratings: Ratings, pairs: Floats, first: Ints | None, second: Ints | None) -> Floats:
    if first is None or second is None:
        return without_each(ratings, lambda rest: value_of(rest, measure.statistic(rest)))
    return pairs_without_each(pairs, first, second, len(ratings.annotators))


def ratings_of(labels: Annotations | Chunks, settings: CoefficientSettings) -> Ratings:
    """The labels that a coefficient is asked of: at least two annotators."""
    found = Ratings.of(labels, settings.names, repeats=settings.repeats, clusters=settings.clusters)
    return found.at_least(2, "agreement")


def taking(found: Estimates, taken: Taken, without: Callable[[], Floats], n_annotators: int) -> Estimates:
    """The first value, with annotators as they are or as a sample; ``without`` gives the values without each."""
    if taken == "these" or found.method == "none":
        return found
    return found.part(np.array([0])).of_sample(without()[:, None], n_annotators=n_annotators)


def without_each(ratings: Ratings, value_of: Callable[[Ratings], float]) -> Floats:
    """The coefficient without each annotator (or group of them) in turn, NaN where there is none."""
    each = []
    for names in ratings.left_out():
        rest = ratings.without(names)
        try:
            each.append(value_of(rest) if len(rest.annotators) > 1 else np.nan)
        except DesignError:
            each.append(np.nan)
    return np.array(each)


def pairs_without_each(pairs: Floats, first: Ints, second: Ints, n_annotators: int) -> Floats:
    """The mean over pairs of annotators without those of each annotator in turn: (annotators,)."""
    others = [pairs[(first != j) & (second != j)] for j in range(n_annotators)]
    return np.array([np.nanmean(one) if np.isfinite(one).any() else np.nan for one in others])


def value_of(ratings: Ratings, statistic: PanelStatistic | Ranks) -> float:
    """The first value of a statistic of all labels, without an interval."""
    if isinstance(statistic, PairRanks | AlphaRanks):
        return float(statistic.of_items(np.arange(ratings.n_items))[0])
    return float(statistic.value(ratings.totals(Together((statistic,))))[0])


def estimate_of(
    ratings: Ratings, statistic: PanelStatistic | Ranks, how: How, transform: Transform = "none"
) -> Estimates:
    """The statistic with its interval."""
    if isinstance(statistic, PairRanks | AlphaRanks):
        return _estimate_ranks(ratings, statistic, how, transform)
    return ratings.sums(Together((statistic,))).estimate(how, transform)


def _estimate_ranks(ratings: Ratings, statistic: Ranks, how: How, transform: Transform) -> Estimates:
    """For rank statistics of labels with many values, which are no sums over items.

    Up to `MOST_WEIGHED` items every resample weighs the items anew. Above, the statistic of each of
    `BATCHES` random batches of items shows how it varies: its mean over batches varies as it does itself.
    """
    if ratings.n_items <= MOST_WEIGHED:
        units = Units.of(ratings.n_items, ratings.clusters)
        weights = np.zeros((units.n, ratings.n_items))
        weights[units.of_item, np.arange(ratings.n_items)] = 1.0
        return Sums(statistic, weights, (statistic.n_used,), units.name).estimate(how, transform)
    units = Units.of(ratings.n_items, ratings.clusters, most=BATCHES)
    batches = np.stack([statistic.of_items(np.flatnonzero(units.of_item == u)) for u in range(units.n)])
    value = statistic.of_items(np.arange(ratings.n_items))
    weights = np.concatenate([batches, np.ones_like(batches)], axis=1)
    moving: Estimated = Shifted(value - batches.mean(axis=0))
    return Sums(moving, weights, (statistic.n_used,), "batches").estimate(how, transform)


@dataclass(frozen=True, eq=False)
class Shifted:
    """The mean over batches, moved to where the statistic of all items is."""

    by: Floats

    def value(self, sums: Floats) -> Floats:
        """Sum over number, and the shift."""
        total, number = np.split(sums, 2, axis=-1)
        return np.asarray(total / np.maximum(number, 1) + self.by)


def wrap(
    measure: Measure,
    ratings: Ratings,
    found: Estimates,
    pairs: tuple[tuple[str, str, Estimate], ...],
    exclusions: Sequence[Exclusion],
    settings: CoefficientSettings,
) -> Coefficient:
    """An estimate as a result."""
    main, interval, _ = bounded((measure,), found)[0]
    notes = ratings.notes
    judges = [name for name in ratings.judges if name in ratings.annotators]
    if judges and len(ratings.annotators) > 2:
        models = f"{listing(judges)} {'is a judge' if len(judges) == 1 else 'are judges'}"
        notes = (
            *notes,
            f"of the {len(ratings.annotators)} annotators, {models}; labels.where(kind='human') has people",
        )
    if pairs:
        notes = (*notes, f"mean over {len(pairs)} pairs of annotators")
    if ratings.cluster_name:
        notes = (*notes, f"items of the same {ratings.cluster_name} were resampled together")
    facts = {
        "items": found.n_items, "annotators": len(ratings.annotators), "labels": ratings.n_labels,
        "scale": ratings.scale.spec, "interval": interval_name(found),
    }  # fmt: skip
    return Coefficient(
        name=measure.name,
        title=measure.title,
        estimate=main.estimate,
        low=main.low,
        high=main.high,
        standard_error=main.standard_error,
        reason=why_undefined(ratings) if np.isnan(main.estimate) else main.reason,
        n_items=found.n_items,
        n_labels=ratings.n_labels,
        annotators=ratings.annotators,
        pairs=pairs,
        run=Run(measure.name, settings, ratings.fingerprint, facts, interval, tuple(exclusions), notes),
        found=found,
    )


def interval_name(found: Estimates) -> str:
    """How an interval was made, for a signature."""
    if found.method != "jackknife":
        return found.method
    if found.score is not None and found.taken != "sample":
        name = "score" if isinstance(found.score, str) else found.score.name
        return name if np.isfinite(found.low[0]) else "none"
    name = INTERVAL_NAMES[found.transform[0]]
    return f"two-way-{name}" if found.taken == "sample" else name


def bounded(measures: Sequence[Measure], found: Estimates) -> list[tuple[Estimate, str, float]]:
    """The first values of `found`, how each interval was made, and the two-sided p of a value of 0 on its scale.

    Also for a share of 1 or 0, in which nothing varies. A share of 1 in all n units: were the true mean m, each unit
    would be 1 with probability m at most, all of them with m ** n. So the true mean is at least (1 - confidence) / 2
    to the power 1 / n; likewise at 0.
    """
    each, words, p = [], found.describe_intervals(), found.p(0.0)
    lows, highs = found.low, found.high
    if found.method == "jackknife" and any(measure.share for measure in measures):
        near = near_the_ends(found.value, found.standard_error, found.confidence)
        lows, highs = np.fmin(lows, near[0]), np.fmax(highs, near[1])
    edge = ((1 - found.confidence) / 2) ** (1 / found.n_units)
    exact = f"{100 * found.confidence:g}% exact bound for {found.n_units:,} {found.unit} that all say the same"
    for i, measure in enumerate(measures):
        ends = (lows, highs) if measure.share else (found.low, found.high)
        value, low, high, error = (float(v[i]) for v in (found.value, *ends, found.standard_error))
        if measure.highest is not None and high > measure.highest:
            low, high = on_the_logit_scale(value / measure.highest, error / measure.highest, found)
            low, high = low * measure.highest, high * measure.highest
        one, said = Estimate(value, low, high, error, found.reasons[i], found, i), words[i]
        if (
            measure.share
            and found.method != "none"
            and found.taken != "sample"
            and np.isfinite(value)
            and abs(value - round(value)) < 1e-12
        ):
            low, high = (edge, 1.0) if value > 0.5 else (0.0, 1 - edge)
            one, said = Estimate(float(round(value)), low, high, np.nan), exact
        each.append((one, said, float(p[i])))
    return each


def on_the_logit_scale(share: float, error: float, found: Estimates) -> tuple[float, float]:
    """The interval of a share that stays below 1: symmetric for log(share / (1 - share))."""
    from scipy.special import expit, logit, stdtrit

    if not 0 < share < 1:
        return share, share
    half = stdtrit(max(found.n_units - 1, 1), (1 + found.confidence) / 2) * error / (share * (1 - share))
    return float(expit(logit(share) - half)), float(expit(logit(share) + half))


def pairs_of(ratings: Ratings, measure: Measure) -> tuple[Ints, Ints, int]:
    """All pairs of annotators with two items in common, and how many pairs have fewer.

    Raises
    ------
    DesignError
        For too many annotators, for a coefficient with a direction among more than two, for no such pair.
    """
    m = len(ratings.annotators)
    if measure.directed and m > 2:
        raise DesignError(
            f"{measure.title} compares two annotators, in order; name them with annotators=('first', 'second')"
        )
    if m > MOST_IN_PAIRS:
        raise DesignError(
            f"{measure.title} compares two annotators, and {m} have too many pairs; name some with "
            "annotators=..., or take a coefficient for many, such as krippendorff_alpha"
        )
    first, second = np.triu_indices(m, 1)
    enough = ratings.joint[first, second] >= 2
    if not enough.any():
        raise DesignError(f"{measure.title} needs two annotators with two items in common; there are none")
    return first[enough], second[enough], int((~enough).sum())


def why_undefined(ratings: Ratings) -> str:
    """Words for a coefficient that has no value."""
    if ratings.varied:
        return "undefined on these data: too few labels to compare, or no variation among them"
    return "all labels are the same, so there is no variation to agree about"


def _named_pairs(
    measure: Measure, ratings: Ratings, found: Estimates, first: Ints | None, second: Ints | None
) -> tuple[tuple[str, str, Estimate], ...]:
    """Each pair of annotators, as it would be by itself."""
    if first is None or second is None or len(found) == 1:
        return ()
    names, each = ratings.annotators, []
    for i, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one = found.part(np.array([i + 1]))
        if len(first) <= MOST_SCORED and found.method == "jackknife" and ratings.n_items <= MOST_ITEMS:
            two = ratings.only((names[a], names[b]))
            statistic = measure.statistic(two, np.array([0]), np.array([1]))
            one = measure.where_few(one, Spread(two), statistic)
        each.append((names[a], names[b], one[0]))
    return tuple(each)


def unit_range(ratings: Ratings) -> float:
    """How far apart the ends of the scale are."""
    return span(ratings.scale)


@lru_cache(maxsize=64)
def span(scale: Scale) -> float:
    """How far apart the ends of a scale are."""
    assert scale.bounds is not None
    low, high = scale.bounds
    return high - low
