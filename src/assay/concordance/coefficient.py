"""One coefficient of agreement: what it measures, what it needs, and the number with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np
import polars as pl

from assay.concordance.sheet import How, Sheet
from assay.data.annotations import Annotations, Repeats
from assay.data.chunks import Chunks
from assay.errors import DesignError
from assay.estimation import Estimate, Interval, Result, Transform, signature
from assay.statistics.base import Ints, PanelStatistic, grid
from assay.statistics.pairs import MeanOfPairs, PairStatistic
from assay.statistics.ranks import PairRanks, Ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Needs = Literal["labels", "categories", "order", "ordered categories", "numbers", "range"]

MOST_IN_PAIRS = 30
"""Annotators up to which a coefficient of two is averaged over all their pairs."""


@dataclass(frozen=True, eq=False)
class Measure:
    """A coefficient before it meets data.

    Attributes
    ----------
    name, title : str
        For signatures, and for people.
    needs : str
        What the scale must offer: any labels, finite ``categories``, ``order``, both, ``numbers``, a ``range``.
    panel, pair : function of Sheet
        The statistic of all labels of an item, or of two; one of them. A pair statistic of None stands
        for ranks of labels that have too many values for a table.
    ranks : str, optional
        Which rank statistic that is.
    transform : str
        Where intervals are symmetric.
    zero : bool
        Whether 0 says "no better than chance", so that it makes sense to test it.
    lower_is_better : bool
        For errors.
    directed : bool
        Whether it changes when the two annotators are swapped, so that a mean over pairs says nothing.
    takes_means : bool
        Whether a consensus may be a mean, which need not be a label of the scale.
    share : bool
        Whether it is the mean of a share of each item, from 0 to 1.
    """

    name: str
    title: str
    needs: Needs
    panel: Callable[[Sheet], PanelStatistic | Ranks] | None = None
    pair: Callable[[Sheet], PairStatistic | None] | None = None
    ranks: Literal["spearman", "kendall"] = "spearman"
    transform: Transform = "fisher"
    zero: bool = True
    lower_is_better: bool = False
    directed: bool = False
    takes_means: bool = False
    share: bool = False

    def check(self, sheet: Sheet) -> None:
        """Raise a `DesignError` where the scale does not offer what the coefficient needs."""
        scale = sheet.scale
        offers = {
            "labels": scale.kind != "text",
            "categories": scale.categories is not None or scale.kind == "nominal",
            "order": scale.ordered,
            "ordered categories": scale.ordered and scale.categories is not None,
            "numbers": scale.numeric,
            "range": scale.numeric and scale.bounds is not None,
        }
        if not offers[self.needs]:
            words = {
                "labels": "labels that can be equal, not free text",
                "categories": "categories that can be counted",
                "order": "labels with an order",
                "ordered categories": "categories with an order",
                "numbers": "labels that are numbers",
                "range": "a scale with a lowest and a highest number",
            }
            raise DesignError(
                f"{self.title} needs {words[self.needs]}; these are on '{scale.spec}'. "
                "Choose another coefficient, or say which scale the labels are on with scale=..."
            )

    def applies(self, sheet: Sheet) -> bool:
        """Whether the scale offers what the coefficient needs."""
        try:
            self.check(sheet)
        except DesignError:
            return False
        return True

    def statistic(self, sheet: Sheet, first: Ints | None = None, second: Ints | None = None) -> PanelStatistic | Ranks:
        """What is to be estimated; for a coefficient of two annotators over these pairs of them."""
        if self.panel is not None:
            return self.panel(sheet)
        assert self.pair is not None
        assert first is not None
        assert second is not None
        pair = self.pair(sheet)
        if pair is None:
            return PairRanks(self.ranks, grid(sheet.answers), first, second)
        return MeanOfPairs(pair, first, second)


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
    pairs : tuple of (annotator, annotator, Interval)
        For a coefficient of two annotators that was averaged over pairs: each of them.
    interval : str
        How the interval was made.
    left_out : tuple of (reason, count)
        What does not count, and why.
    notes : tuple of str
        What was decided on the way.
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
    pairs: tuple[tuple[str, str, Interval], ...]
    interval: str
    settings: dict[str, object]
    left_out: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    data: str
    seed: int
    found: Estimate = field(repr=False, metadata={"json": False})

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

    @property
    def signature(self) -> str:
        """One line to cite."""
        return signature(
            self.name,
            **self.settings,
            items=self.n_items,
            annotators=len(self.annotators),
            labels=self.n_labels,
            interval=interval_name(self.found),
            level=self.found.confidence,
            resamples=self.found.n_resamples or None,
            seed=self.seed if self.found.n_resamples else None,
            data=self.data,
        )

    def summary(self) -> str:
        """Value, interval, what it rests on."""
        level = f"{100 * self.found.confidence:g}%"
        if np.isfinite(self.low):
            number = f"{self.estimate:.3f}, {level} interval [{self.low:.3f}, {self.high:.3f}]"
        else:
            number = f"{self.estimate:.3f}, no interval: {self.reason}"
        lines = [f"{self.title}: {number}."]
        who = f"{len(self.annotators)} annotators" if len(self.annotators) > 2 else " and ".join(self.annotators)
        lines.append(f"{self.n_items:,} items, {who}; {self.interval}.")
        lines += [f"Left out: {what} ({count:,})." for what, count in self.left_out]
        lines += [f"{note[0].upper()}{note[1:]}." for note in self.notes]
        return "\n".join([*lines, self.signature])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The coefficient and its pairs of annotators as a forest plot."""
        from assay.reporting import pictures as figures

        table = self.table
        names = [self.title, *table["annotators"][1:]] if self.pairs else [self.title]
        ax = figures.axes(ax, height=1.2 + 0.26 * len(names))
        figures.forest(ax, names, *(table[c].to_list() for c in ("estimate", "low", "high")))
        ax.set_xlabel(self.title)
        return ax


def coefficient(
    measure: Measure,
    labels: Annotations | Chunks,
    annotators: Sequence[str] | None,
    settings: dict[str, object] | None = None,
    *,
    repeats: Repeats,
    clusters: str | None,
    **how: Unpack[How],
) -> Coefficient:
    """Check, reduce the table to a sheet, estimate, wrap: what every coefficient does."""
    sheet = Sheet.of(labels, annotators, repeats=repeats, clusters=clusters)
    measure.check(sheet)
    first = second = None
    left_out: list[tuple[str, int]] = []
    if measure.pair is not None:
        first, second, apart = pairs_of(sheet, measure)
        if apart:
            left_out.append(("pairs of annotators without two items in common", apart))
    found = sheet.estimate(measure.statistic(sheet, first, second), measure.transform, **how)
    if sheet.n_items > found.n_items:
        left_out.append(("items without two labels to compare", sheet.n_items - found.n_items))
    return wrap(measure, sheet, found, _named_pairs(sheet, found, first, second), left_out, settings or {})


def interval_name(found: Estimate) -> str:
    """How an interval was made, for a signature."""
    if found.method != "jackknife":
        return found.method
    return {"none": "jackknife", "fisher": "jackknife-z", "log": "jackknife-log"}[found.transform]


def wrap(
    measure: Measure,
    sheet: Sheet,
    found: Estimate,
    pairs: tuple[tuple[str, str, Interval], ...],
    left_out: Sequence[tuple[str, int]],
    settings: dict[str, object],
) -> Coefficient:
    """An estimate as a result."""
    main, interval = bounded(measure, found, found[0])
    notes = sheet.notes
    if pairs:
        notes = (*notes, f"mean over {len(pairs)} pairs of annotators")
    if sheet.cluster_name:
        notes = (*notes, f"items of the same {sheet.cluster_name} were resampled together")
    return Coefficient(
        name=measure.name,
        title=measure.title,
        estimate=main.estimate,
        low=main.low,
        high=main.high,
        standard_error=main.standard_error,
        reason=why_undefined(sheet) if np.isnan(main.estimate) else main.reason,
        n_items=found.n_items,
        n_labels=sheet.n_labels,
        annotators=sheet.annotators,
        pairs=pairs,
        interval=interval,
        settings={**settings, "repeats": sheet.repeats if sheet.repeats != "error" else None},
        left_out=tuple(left_out),
        notes=notes,
        data=sheet.fingerprint,
        seed=found.seed,
        found=found,
    )


def bounded(measure: Measure, found: Estimate, one: Interval) -> tuple[Interval, str]:
    """A value of `found` and how its interval was made, also for a share of 1 or 0, in which nothing varies.

    A share of 1 in all n units: were the true mean m, each unit would be 1 with probability m at most, all of
    them with m ** n. So the true mean is at least (1 - confidence) / 2 to the power 1 / n; likewise at 0.
    """
    words = found.describe_interval()
    whole = abs(one.estimate - round(one.estimate)) < 1e-12 if np.isfinite(one.estimate) else False
    if not (measure.share and whole and found.method != "none"):
        return one, words
    edge = ((1 - found.confidence) / 2) ** (1 / found.n_units)
    low, high = (edge, 1.0) if one.estimate > 0.5 else (0.0, 1 - edge)
    level = f"{100 * found.confidence:g}%"
    return (
        Interval(float(round(one.estimate)), low, high, np.nan),
        f"{level} exact bound for {found.n_units:,} {found.unit} that all say the same",
    )


def pairs_of(sheet: Sheet, measure: Measure) -> tuple[Ints, Ints, int]:
    """All pairs of annotators with two items in common, and how many pairs have fewer.

    Raises
    ------
    DesignError
        For too many annotators, for a coefficient with a direction among more than two, for no such pair.
    """
    m = len(sheet.annotators)
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
    if isinstance(sheet.labels, Chunks):
        return first, second, 0
    enough = sheet.joint[first, second] >= 2
    if not enough.any():
        raise DesignError(f"{measure.title} needs two annotators with two items in common; there are none")
    return first[enough], second[enough], int((~enough).sum())


def why_undefined(sheet: Sheet) -> str:
    """Words for a coefficient that has no value."""
    if isinstance(sheet.labels, Chunks) or len(np.unique(sheet.labels.value)) > 1:
        return "undefined on these data: too few labels to compare, or no variation among them"
    return "all labels are the same, so there is no variation to agree about"


def _named_pairs(
    sheet: Sheet, found: Estimate, first: Ints | None, second: Ints | None
) -> tuple[tuple[str, str, Interval], ...]:
    if first is None or second is None or len(found) == 1:
        return ()
    names = sheet.annotators
    each = list(found)[1:]
    return tuple((names[a], names[b], i) for a, b, i in zip(first.tolist(), second.tolist(), each, strict=True))


def unit_range(sheet: Sheet) -> float:
    """How far apart the ends of the scale are."""
    assert sheet.scale.bounds is not None
    low, high = sheet.scale.bounds
    return high - low
